"""A worker that kills itself (SIGKILL) at a step of an offset change.

`offset_change_crasher.py ORDERS FILE`; for a standalone worker: `offset_change_crasher.py ORDERS FILE CONNECTOR…`. The
file ORDERS, which may not exist yet, holds the step, counted since the file exists: 1 writes the intent, 2 takes the
first step, and so on; the last one precedes the removal of the intent."""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def main(orders: Path, file: str, connectors: Sequence[str]) -> int:
    from runtime.herder.offsets.offset_change import OffsetChanges
    from runtime.storage.journal import OffsetJournal, PlannedChange
    from runtime.worker import standalone, worker

    count = itertools.count(1)

    def one_more() -> None:
        if orders.exists() and next(count) == int(orders.read_text()):
            os.kill(os.getpid(), signal.SIGKILL)

    begin, drop, steps = OffsetJournal.begin, OffsetJournal.drop, OffsetChanges._steps

    async def dying_begin(self: OffsetJournal, intent: PlannedChange) -> None:
        await begin(self, intent)
        one_more()

    async def dying_drop(self: OffsetJournal, intent: PlannedChange) -> None:
        one_more()
        await drop(self, intent)

    def dying_steps(self: OffsetChanges, intent: PlannedChange) -> list[Any]:
        return [(name, _then(one_more, call)) for name, call in steps(self, intent)]

    OffsetJournal.begin, OffsetJournal.drop = dying_begin, dying_drop  # type: ignore[method-assign]  # only in this process, which dies
    OffsetChanges._steps = dying_steps  # type: ignore[method-assign]  # likewise
    return standalone.main(file, connectors) if connectors else worker.main(file)


def _then(after: Any, call: Any) -> Any:
    async def both(intent: Any) -> None:
        await call(intent)
        after()

    return both


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))

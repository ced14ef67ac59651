"""A worker that kills itself (SIGKILL) between records of the config topic: `config_write_crasher.py FILE ORDERS`. The
worker checks for the file ORDERS at each record. Once the file holds a number N, the worker dies as soon as Kafka has
acknowledged N further records (0: before the first one is sent)."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path


def main(file: str, orders: str) -> int:
    from runtime.kafka.log.log import TopicLogs
    from runtime.kafka.log.transactional_writer import Records, TransactionalWriter
    from runtime.worker import worker

    at, write = Path(orders), TopicLogs._write
    left: list[int] = []  # empty: no order yet

    async def dying_write(
        self: TopicLogs, topic: str, records: Records, writer: TransactionalWriter | None = None
    ) -> None:
        if not topic.endswith("-config"):
            await write(self, topic, records, writer)
            return
        for key, value in records:
            if left or _ordered(at, left):
                _die_at_last(left)
                await self._send(topic, key, value)
                left[0] -= 1
                _die_at_last(left)
            else:
                await write(self, topic, [(key, value)], writer)

    TopicLogs._write = dying_write  # type: ignore[method-assign]
    return worker.main(file)


def _ordered(at: Path, left: list[int]) -> bool:
    if at.exists():
        left.append(int(at.read_text()))
    return bool(left)


def _die_at_last(left: list[int]) -> None:
    if left[0] <= 0:
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))

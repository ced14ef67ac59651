"""One verb for many connectors: who is meant, a few at a time, a result for each, the failed ones again."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from tui.errors import Unreachable
from tui.formatting import counted
from tui.model import Connector
from tui.screens.operations.actions import ConnectorAction
from tui.screens.services.operations import Operation, Phase

AT_ONCE = 4  # requests under way; a worker's herder takes them one after the other anyway
WAITING, CANCELLED, NO_ANSWER = "waiting", "not tried: cancelled", "not tried: the cluster does not answer"

Act = Callable[[ConnectorAction, Connector], Awaitable[Operation]]
Look = Callable[[str], Connector | None]


@dataclass(slots=True)
class BulkTarget:
    """One connector. `left_out` says why nothing was asked for it; empty as long as it is or will be."""

    name: str
    left_out: str = ""
    operation: Operation | None = None

    @property
    def is_open(self) -> bool:
        return not self.left_out and (self.operation is None or self.operation.phase.is_open)

    @property
    def failed(self) -> bool:
        """Worth another try."""
        if self.operation is None:
            return self.left_out in (CANCELLED, NO_ANSWER)
        return self.operation.phase.is_bad

    @property
    def word(self) -> str:
        if self.operation is not None:
            return self.operation.phase.value
        return WAITING if not self.left_out else "left out"

    @property
    def said(self) -> str:
        return self.left_out or (self.operation.last if self.operation is not None else "")


def chosen(
    action: ConnectorAction, some: Sequence[Connector], busy: Callable[[str], Operation | None]
) -> list[BulkTarget]:
    """All of them as targets; those for which it makes no sense with the reason."""
    return [BulkTarget(one.name, _why_not(action, one, busy)) for one in some]


def _why_not(action: ConnectorAction, one: Connector, busy: Callable[[str], Operation | None]) -> str:
    running = busy(one.name)
    return f"{running.title} is still under way" if running else action.needs(one)


@dataclass(slots=True)
class BulkOperation:
    """A verb under way for its targets. `changed` hears of each step that no operation tells of."""

    action: ConnectorAction
    targets: list[BulkTarget]
    act: Act
    look: Look
    changed: Callable[[], None]
    cancelled: bool = field(default=False, init=False)
    _down: bool = field(default=False, init=False)

    async def run(self) -> None:
        turns = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(self._one(target, turns) for target in self.targets if target.is_open))

    async def _one(self, target: BulkTarget, turns: asyncio.Semaphore) -> None:
        async with turns:
            now = self.look(target.name)
            if self.cancelled or self._down:
                target.left_out = CANCELLED if self.cancelled else NO_ANSWER
            elif now is None:
                target.left_out = "gone meanwhile"
            elif why := self.action.needs(now):
                target.left_out = why
            else:
                target.operation = await self.act(self.action, now)
                # What one could not be asked for, the others cannot either; they wait for "retry".
                self._down = self._down or isinstance(target.operation.error, Unreachable)
        self.changed()

    def cancel(self) -> None:
        """What has not begun stays undone."""
        self.cancelled = True
        self.changed()

    def again(self) -> BulkOperation | None:
        """The same for those that failed or were not tried; None when there are none."""
        failed = [BulkTarget(target.name) for target in self.targets if target.failed]
        return BulkOperation(self.action, failed, self.act, self.look, self.changed) if failed else None

    @property
    def worth_another_try(self) -> int:
        return sum(target.failed for target in self.targets)

    @property
    def is_open(self) -> bool:
        return any(target.is_open for target in self.targets)

    @property
    def can_be_cancelled(self) -> bool:
        return not self.cancelled and any(not target.left_out and target.operation is None for target in self.targets)

    @property
    def names(self) -> list[str]:
        return [target.name for target in self.targets if not target.left_out]

    def summary(self) -> str:
        """`stop 12 connectors: 10 observed, 1 failed, 1 waiting`."""
        words = Counter(target.word for target in self.targets)
        order = [*(phase.value for phase in (Phase.FAILED, Phase.TIMED_OUT, Phase.OBSERVED, Phase.ACCEPTED))]
        ranked = sorted(words, key=lambda word: order.index(word) if word in order else len(order))
        text = ", ".join(f"{words[word]} {word}" for word in ranked)
        return f"{self.action.name} {counted(len(self.targets), 'connector')}: {text}"

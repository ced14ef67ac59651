"""One verb for many connectors or tasks: a few requests in parallel, a result for each, retry of the failed ones."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from shlex import quote

from tui.errors import cluster_is_down
from tui.formatting import counted
from tui.model import Connector
from tui.screens.operations.actions import ConnectorAction
from tui.screens.services.operations import Operation, Phase

MAX_REQUESTS = 4  # under way at once; the worker's herder processes them one by one
WAITING, CANCELLED, NO_RESPONSE = "waiting", "not sent: cancelled", "not sent: the cluster does not respond"

Act = Callable[[ConnectorAction, Connector], Awaitable[Operation]]
NotSent = Callable[[ConnectorAction, Connector, str], Operation]  # logs a target and why no request was sent
Look = Callable[[str], Connector | None]


@dataclass(slots=True)
class BulkTarget:
    """A connector, or a task of it if `action` is a task's. `left_out` is the reason for sending no request; empty if
    one was or will be sent. `shown` is the connector as the question has shown it."""

    name: str
    left_out: str = ""
    is_sent: bool = False  # or being sent
    operation: Operation | None = None
    action: ConnectorAction | None = None  # instead of that of the whole operation
    shown: Connector | None = None

    @property
    def title(self) -> str:
        """The name of the connector, or NAME/ID."""
        return self.name if self.action is None else self.action.title(self.name)

    @property
    def is_open(self) -> bool:
        return not self.left_out and (self.operation is None or self.operation.phase.is_open)

    @property
    def failed(self) -> bool:
        """Whether a retry may help."""
        return self.operation is not None and self.operation.phase.is_bad

    @property
    def word(self) -> str:
        if self.operation is not None:
            return self.operation.phase.value
        if self.left_out:
            return "left out"
        return Phase.REQUESTED.value if self.is_sent else WAITING

    @property
    def message(self) -> str:
        return self.left_out or (self.operation.last if self.operation is not None else "")


def chosen(
    action: ConnectorAction, connectors: Sequence[Connector], busy: Callable[[str], Operation | None]
) -> list[BulkTarget]:
    """All connectors as targets; those on which the verb has no effect with the reason."""
    return [BulkTarget(connector.name, _why_not(action, connector, busy), shown=connector) for connector in connectors]


def _why_not(action: ConnectorAction, connector: Connector, busy: Callable[[str], Operation | None]) -> str:
    running = busy(connector.name)
    return f"{running.title} is still under way" if running else action.needs(connector)


@dataclass(slots=True)
class BulkOperation:
    """A verb being applied to its targets. `changed` is called after each step that is not a step of an operation."""

    action: ConnectorAction
    targets: list[BulkTarget]
    act: Act
    not_sent: NotSent
    look: Look
    changed: Callable[[], None]
    noun: str = "connector"
    cancelled: bool = field(default=False, init=False)
    _down: bool = field(default=False, init=False)

    async def run(self) -> None:
        """Returns when each target was accepted, refused or left out."""
        slots = asyncio.Semaphore(MAX_REQUESTS)
        await asyncio.gather(*(self._one(target, slots) for target in self.targets if target.is_open))

    async def _one(self, target: BulkTarget, slots: asyncio.Semaphore) -> None:
        async with slots:
            now = self.look(target.name)
            if now is None:
                target.left_out = "deleted meanwhile"
            elif self.cancelled or self._down:
                why = CANCELLED if self.cancelled else NO_RESPONSE
                target.operation = self.not_sent(target.action or self.action, now, why)
            elif why := (target.action or self.action).outdated(target.shown or now, now):
                target.left_out = why
            else:
                target.is_sent = True
                self.changed()
                target.operation = await self.act(target.action or self.action, now)
                self._down = self._down or cluster_is_down(target.operation.error)  # the others wait for a retry
        self.changed()

    def cancel(self) -> None:
        """Drops the requests that have not been sent yet."""
        self.cancelled = True
        self.changed()

    def retry(self) -> BulkOperation | None:
        """The same verb for the targets that failed or were not sent; None if there are none."""
        failed = [
            BulkTarget(target.name, action=target.action, shown=target.shown)
            for target in self.targets
            if target.failed
        ]
        again = BulkOperation(self.action, failed, self.act, self.not_sent, self.look, self.changed, self.noun)
        return again if failed else None

    @property
    def retryable(self) -> int:
        return sum(target.failed for target in self.targets)

    @property
    def is_open(self) -> bool:
        return any(target.is_open for target in self.targets)

    @property
    def can_be_cancelled(self) -> bool:
        return not self.cancelled and self.waiting > 0

    @property
    def waiting(self) -> int:
        """The number of targets whose request has not been sent yet."""
        return sum(target.word == WAITING for target in self.targets)

    def lines(self) -> list[str]:
        """The script lines that do the same: one for all connectors, and one for each task."""
        sent = [target for target in self.targets if not target.left_out]
        tasks = [f"{target.action.command.verb} {quote(target.title)}" for target in sent if target.action]
        names = " ".join(quote(target.name) for target in sent if not target.action)
        return [*([f"{self.action.command.verb} {names}"] if names else []), *tasks]

    def summary(self) -> str:
        """For example `stop 12 connectors: 10 observed, 1 failed, 1 waiting`."""
        words = Counter(target.word for target in self.targets)
        order = [*(phase.value for phase in (Phase.FAILED, Phase.TIMED_OUT, Phase.OBSERVED, Phase.ACCEPTED))]
        ranked = sorted(words, key=lambda word: order.index(word) if word in order else len(order))
        text = ", ".join(f"{words[word]} {word}" for word in ranked)
        return f"{self.action.name} {counted(len(self.targets), self.noun)}: {text}"

"""Starts of connectors: how many start at once, and the search for connectors that end a process when they start."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from runtime.herder.control.crash_loop import CrashLoopGuard
from runtime.host.port import HOST_DIED, REFUSED, HostError

# Finds the connector whose start ends the plugin host, without failing connectors that started at the same time.
#
# the host dies ─ every connector that was starting becomes a suspect and starts again
# suspects start one after another ─ the start succeeds: no longer a suspect
# └ the host dies again: counted; after MAX_DEATHS the connector is FAILED
MAX_DEATHS = 3
"""Deaths of the host, during starts of one suspect alone, after which the connector is FAILED."""

TRIAL_TIMEOUT = 10.0
"""Seconds after which the next suspect is started even if the previous start has not returned."""


class StartTrials:
    """The start trials of all connectors of a worker. Event loop only."""

    def __init__(self, turn: asyncio.Lock) -> None:
        """`turn` is held while a suspect starts."""
        self._deaths: dict[str, int] = {}  # of suspects, while they started alone
        self._turn = turn

    async def run(self, name: str, start: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Returns the result of `start`, which starts a connector. Raises its HostError, which is no longer `temporary`
        if the connector has ended the host MAX_DEATHS times."""
        suspect = name in self._deaths
        try:
            response = await (self._alone(start) if suspect else start())
        except HostError as e:
            if e.kind == HOST_DIED:
                self._count(name, suspect, e)
            elif not e.temporary:
                self._deaths.pop(name, None)
            raise
        self._deaths.pop(name, None)
        return response

    def forget(self, name: str) -> None:
        """The connector has been deleted."""
        self._deaths.pop(name, None)

    async def _alone(self, start: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        async with self._turn:
            attempt = asyncio.create_task(start())
            try:
                await asyncio.wait({attempt}, timeout=TRIAL_TIMEOUT)
            except asyncio.CancelledError:
                attempt.cancel()
                raise
        return await attempt

    def _count(self, name: str, suspect: bool, death: HostError) -> None:
        alone = suspect and not self._turn.locked()  # otherwise another suspect's start may have ended the host
        deaths = self._deaths.get(name, 0) + alone
        self._deaths[name] = min(deaths, MAX_DEATHS - 1)  # after a manual restart, one more death is enough
        if deaths >= MAX_DEATHS:
            message = f"Starting this connector ended the plugin host {deaths} times; the last time: {death.message}"
            trace = f"org.apache.kafka.connect.errors.ConnectException: {message}\n"
            raise HostError(REFUSED, message, trace) from None


MAX_STARTING = 32
"""How many connectors may start at once."""

SLOW_START = 1.0
"""Seconds after which a start no longer counts, since the connector's code waits for an external system."""

LONG_WAIT = 15.0
"""Seconds that a start waits before a warning is logged."""

LOG_INTERVAL = 30.0
"""Seconds between two warnings."""

_log = logging.getLogger(__name__)


class StartGate:
    """Admits starts in the order of their requests. Event loop only."""

    def __init__(
        self, max_starting: int = MAX_STARTING, slow_start: float = SLOW_START, long_wait: float = LONG_WAIT
    ) -> None:
        self._free, self._slow_start, self._long_wait = max_starting, slow_start, long_wait
        self._queue: deque[asyncio.Future[None]] = deque()
        self._warning: asyncio.TimerHandle | None = None  # armed while starts wait
        self._measured: asyncio.Future[None] | None = None  # the last start in the queue when the warning was armed

    @property
    def waiting(self) -> int:
        """The number of starts that wait."""
        return sum(not turn.done() for turn in self._queue)

    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[None]:
        """Waits until fewer than `max_starting` starts are running. After `slow_start` seconds this start no longer
        counts, even if it continues."""
        await self._enter()
        held = True

        def leave() -> None:
            nonlocal held
            if held:
                held = False
                self._leave()

        timer = asyncio.get_running_loop().call_later(self._slow_start, leave)
        try:
            yield
        finally:
            timer.cancel()
            leave()

    async def _enter(self) -> None:
        if self._free > 0:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        if self._warning is None:
            self._watch(self._long_wait)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()
            raise

    def _watch(self, seconds: float) -> None:
        self._measured = self._queue[-1]
        self._warning = asyncio.get_running_loop().call_later(seconds, self._warn)

    def _warn(self) -> None:
        self._warning = None
        waiting = self.waiting
        if not waiting:
            return
        if self._measured is not None and self._measured.done():  # it waited for less than that
            self._watch(self._long_wait)
            return
        _log.warning(
            "%d connectors are waiting to be started: this machine is too busy to start them faster. Connectors that "
            "have started keep running; the others start in the order of their requests. Add processors, or move "
            "connectors to another worker",
            waiting,
        )
        self._watch(LOG_INTERVAL)

    def _leave(self) -> None:
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


_T = TypeVar("_T")
Call = Callable[[], Coroutine[Any, Any, _T]]


@dataclass(frozen=True, slots=True)
class StartTimes:
    """Times of a connector's control loop, in seconds."""

    retry_delay: float = 0.5
    """Delay before a step that failed for a reason outside the connector is retried; each retry doubles the delay."""
    step_timeout: float = 1.0
    """How long a step waits for the connector's start() and task_configs(). After that they continue in the background,
    and the control loop handles other requests for the connector."""
    slow_start: float = 10.0
    """Time after which a connector whose start() has not returned is reported as UNASSIGNED."""
    task_configs_delay: float = 0.25
    """Delay before task_configs() is called again after it has failed; each failure doubles the delay, up to a minute,
    as in Connect."""
    missing_tasks: float = 5.0
    """How long the task configs of a running connector may be missing before they are generated again: a stop that is
    under way has removed them, and writes its target state now."""
    close_timeout: float = 10.0
    """How long a worker that ends waits for a step."""


class StartControl:
    """Shared by all connectors of a worker."""

    def __init__(self, crashes: CrashLoopGuard | None = None, times: StartTimes | None = None) -> None:
        self.times = times or StartTimes()
        turn = asyncio.Lock()
        self.gate = StartGate()
        self.crashes = crashes or CrashLoopGuard()
        self._imports, self._trials = StartTrials(turn), StartTrials(turn)

    async def find_class(self, name: str, config: Mapping[str, str], find: Call[_T]) -> _T:
        """The result of `find`, which imports the connector's class. Raises HostError as start() does."""
        return await self.crashes.run(name, config, lambda: self._imports.run(name, find), last=False)

    async def start(self, name: str, config: Mapping[str, str], start: Call[_T]) -> _T:
        """The result of `start`. Raises a HostError that is not `temporary` if the connector has ended the plugin host
        or the worker too often."""
        return await self.crashes.run(name, config, lambda: self._trials.run(name, start), last=True)

    def forget(self, name: str) -> None:
        """The connector has been deleted."""
        self._imports.forget(name)
        self._trials.forget(name)
        self.crashes.forget(name)

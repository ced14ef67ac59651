"""Starts of connectors: how many start at once, and the search for connectors that end a process when they start."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from runtime.herder.control.crash_loop import CrashLoopGuard
from runtime.herder.control.start_gate import StartGate
from runtime.herder.control.start_trials import StartTrials

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

"""One run of a task in a slot: its thread, and requests from other threads."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable
from typing import Protocol

from runtime.model.rate_limit import RateLimit
from runtime.model.states import State
from runtime.model.task_spec import TaskSpec
from runtime.pipeline.port import SlotHost
from runtime.pipeline.task.control import PluginCall
from runtime.pipeline.task.error_counts import Counts
from runtime.pipeline.task.log import task_log
from runtime.pipeline.task.meter import Meter
from runtime.system.threads import run_apart


class Runner(Protocol):
    """Runs a task. All methods except run() are called from other threads."""

    @property
    def call(self) -> PluginCall | None:
        """The connector's method that is running, if any."""

    @property
    def errors(self) -> Counts | None:
        """Counts of failed records; None before the first record."""

    @property
    def meter(self) -> Meter | None:
        """Counts of the task's work so far."""

    def run(self) -> None: ...

    def stop(self) -> None: ...

    def pause(self, paused: bool) -> None: ...

    def limit(self, limit: RateLimit) -> None: ...

    def revoke(self) -> None: ...

    def move(self, reason: str) -> None: ...

    def reset_topics(self, at: int) -> None: ...


RunnerFactory = Callable[[TaskSpec, SlotHost], Runner]


class TaskThread:
    """Creates the runner and runs it. No method blocks the caller, whatever the runner does, except by run_apart()."""

    def __init__(
        self, spec: TaskSpec, host: SlotHost, factory: RunnerFactory, ended: Callable[[TaskSpec], None]
    ) -> None:
        self.spec = spec
        self._host = host
        self._factory = factory
        self._ended = ended
        self._lock = threading.Lock()  # guards the next two attributes
        self._runner: Runner | None = None
        self._early: list[Callable[[Runner], None]] = []  # requests made before the runner was created
        self._changing = threading.Lock()
        self._paused, self._limit = spec.paused, spec.limit
        self._creating: PluginCall | None = None
        self._thread = threading.Thread(target=self._run, name=str(spec.id), daemon=True)

    def start(self) -> None:
        """RuntimeError if the system has no more threads."""
        self._thread.start()

    @property
    def thread(self) -> int | None:
        """The thread's identity, as in sys._current_frames()."""
        return self._thread.ident

    @property
    def call(self) -> PluginCall | None:
        """The connector's method that is running; creating the runner (imports, constructors) counts as `create`."""
        runner = self._runner
        return self._creating if runner is None else runner.call

    @property
    def errors(self) -> Counts | None:
        """Counts of failed records; None before the first record."""
        runner = self._runner
        return None if runner is None else runner.errors

    @property
    def meter(self) -> Meter | None:
        """Counts of the task's work so far; None before it starts."""
        runner = self._runner
        return None if runner is None else runner.meter

    def stop(self) -> None:
        """Ask the task to stop gracefully."""
        self._request(lambda runner: runner.stop())

    def revoke(self, done: Callable[[], None]) -> None:
        """Make the task end without further put, produce or commit; `done` is called when this is certain."""

        def revoke(runner: Runner) -> None:
            runner.revoke()
            done()

        with self._lock:
            if self._runner is None:  # the request is answered before the task runs
                self._early.append(lambda runner: runner.revoke())
                done()
                return
        self._request(revoke)

    def move(self, reason: str) -> None:
        """Ask the task to stop gracefully and to be placed again."""
        self._request(lambda runner: runner.move(reason))

    def reset_topics(self, at: int) -> None:
        """Make the task report its topics again."""
        self._request(lambda runner: runner.reset_topics(at))

    def pause(self, paused: bool) -> None:
        """Pause or resume the task."""
        self._paused = paused
        self._request(self._apply_pause)

    def limit(self, limit: RateLimit) -> None:
        """Change the task's rate limit."""
        self._limit = limit
        self._request(self._apply_limit)

    def _apply_pause(self, runner: Runner) -> None:
        with self._changing:  # threads may run in any order: each applies the latest request
            runner.pause(self._paused)

    def _apply_limit(self, runner: Runner) -> None:
        with self._changing:
            runner.limit(self._limit)

    def _request(self, request: Callable[[Runner], None]) -> None:
        with self._lock:
            if self._runner is None:
                self._early.append(request)
                return
            runner = self._runner
        run_apart(lambda: request(runner), f"{self.spec.id}-control")

    def _run(self) -> None:
        with task_log(self.spec, self._host):
            self._creating = PluginCall("create", time.monotonic())
            try:
                runner = self._factory(self.spec, self._host)
                self._respond_early(runner)
                runner.run()
            except BaseException:  # SystemExit too: a plugin must not end its thread unnoticed
                self._host.state(self.spec, State.FAILED, traceback.format_exc())
            finally:
                self._ended(self.spec)

    def _respond_early(self, runner: Runner) -> None:
        with self._lock:
            self._runner = runner
            early, self._early = self._early, []
        for request in early:
            request(runner)

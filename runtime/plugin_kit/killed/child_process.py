"""Starts, observes, kills and stops the child process."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from types import TracebackType

from runtime.model.task_spec import TaskSpec
from runtime.plugin_kit.conformance.outcome import CheckFailed
from runtime.plugin_kit.killed.fork_client import idle_server
from runtime.system.processes import OwnProcess

_PATIENCE = 30.0  # seconds without progress, for the start and for the end of the process
_NO_PROGRESS = 4.0  # seconds after which a source makes no progress, if it has been polled meanwhile:
_IDLE_POLLS = 30  # without this, a machine under load would look like a fault of the plugin


class NoProgress(CheckFailed):
    """The task is running, but nothing happens."""


class TaskProcess:
    """A task in a process of its own."""

    def __init__(self, spec: TaskSpec, records: int) -> None:
        self._server = idle_server()
        self._output = self._server.run(spec, records)
        if not self._output.wait(lambda: self._output.pid is not None, _PATIENCE) or self._output.pid is None:
            self._server.close()
            raise CheckFailed(f"No process could be started for the task{self._logged()}", "See the error")
        try:
            self._process: OwnProcess | None = OwnProcess(self._output.pid)
        except ProcessLookupError:
            self._process = None  # it has ended already

    @property
    def running(self) -> bool:
        """Whether the task has started."""
        return "RUNNING" in self._output.lines

    @property
    def put(self) -> int:
        """The number of records that the task has put."""
        return self._count("PUT")

    def _count(self, what: str) -> int:
        """The last number that the task has reported."""
        counts = [line.split()[1] for line in self._output.lines if line.startswith(f"{what} ")]
        return int(counts[-1]) if counts else 0

    def wait(self, done: Callable[[], bool], progress: Callable[[], object], what: str) -> None:
        """Waits until `done`. CheckFailed if the task ends before, or NoProgress if it does nothing more."""
        seen, since, polls = progress(), time.monotonic(), self._count("POLLS")
        while not done():
            if self._output.ended:
                raise CheckFailed(f"The task ended before {what}: {self._reason()}", "See the error")
            if (now := progress()) != seen:
                seen, since, polls = now, time.monotonic(), self._count("POLLS")
            elif time.monotonic() - since > (_NO_PROGRESS if self._count("POLLS") - polls > _IDLE_POLLS else _PATIENCE):
                raise NoProgress(f"The task makes no progress before {what}{self._logged()}", "See its log")
            time.sleep(0.005)

    def kill(self) -> None:
        """SIGKILL: the task notices nothing."""
        self._signal(signal.SIGKILL)
        self._output.wait(lambda: self._output.ended, _PATIENCE)

    def stop(self) -> float:
        """SIGTERM: the task stops gracefully. Returns the seconds until the process has ended."""
        began = time.monotonic()
        self._signal(signal.SIGTERM)
        if not self._output.wait(lambda: self._output.ended, _PATIENCE):
            raise CheckFailed(f"The task did not stop within {_PATIENCE:.0f} s{self._logged()}") from None
        if self._output.code != 0:
            raise CheckFailed(f"The task failed when it was stopped: {self._reason()}", "See the error")
        return time.monotonic() - began

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.signal(number)

    def _reason(self) -> str:
        time.sleep(0.05)  # the last lines of standard error
        failed = [line for line in self._output.lines if line.startswith("FAILED ")]
        if failed:
            trace: str = json.loads(failed[-1][7:])
            return trace.strip()
        return f"exit code {self._output.code}{self._logged()}"

    def _logged(self) -> str:
        return "".join(f"\n{line}" for line in self._output.errors[-20:])

    def __enter__(self) -> TaskProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._output.ended:
            self.kill()
        if self._process is not None:
            self._process.close()
        self._server.give_back()

"""Starts, observes, kills and stops the child process."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import TextIO

from runtime.model.task_spec import TaskSpec
from runtime.plugin_kit.conformance.outcome import CheckFailed
from runtime.system.processes import OwnProcess
from runtime.system.python_process import INTERPRETER


class TaskOutput:
    """What the process of one task has written so far, and whether it has ended."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.errors: list[str] = []
        self.pid: int | None = None
        self.code: int | None = None
        self.server_ended = False
        self._changed = threading.Condition()

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self.code is not None or self.server_ended

    def add(self, line: str | None) -> None:
        """A line of standard output, in which the server reports start and end of the process; None at its end."""
        word, _, number = (line or "").partition(" ")
        with self._changed:
            if line is None:
                self.server_ended = True
            elif word == "STARTED":
                self.pid = int(number)
            elif word == "ENDED":
                self.code = int(number)
            elif line:
                self.lines.append(line)
            self._changed.notify_all()

    def wait(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Waits until the condition holds, or the server has ended. Returns False after this time."""
        with self._changed:
            return self._changed.wait_for(lambda: condition() or self.server_ended, seconds)


class ForkServer:
    """A process that runs fork_server.main(), one task after another."""

    def __init__(self) -> None:
        command = [*INTERPRETER, "-c", "from runtime.plugin_kit.killed.fork_server import main; main()"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        self._task = TaskOutput()
        assert self._process.stdin is not None and self._process.stdout is not None and self._process.stderr is not None
        self._requests = self._process.stdin
        for read, stream in ((self._read_output, self._process.stdout), (self._read_errors, self._process.stderr)):
            threading.Thread(target=read, args=(stream,), name="child-output", daemon=True).start()
        atexit.register(self.close)

    @property
    def running(self) -> bool:
        """Whether the server can run tasks."""
        return self._process.poll() is None

    def run(self, spec: TaskSpec, records: int) -> TaskOutput:
        """Starts a task; what it writes is added to the result."""
        self._task = TaskOutput()
        request = {
            "spec": asdict(spec), "records": records, "path": sys.path, "folder": str(Path.cwd()),
            "environment": dict(os.environ),
        }  # fmt: skip
        with suppress(BrokenPipeError):  # the server has ended, which the output shows
            self._requests.write(json.dumps(request) + "\n")
            self._requests.flush()
        return self._task

    def give_back(self) -> None:
        """Leaves the server to other tasks if its own has ended."""
        if self._task.code is not None:
            _idle.append(self)
        else:
            self.close()

    def close(self) -> None:
        """End the server."""
        atexit.unregister(self.close)
        with suppress(BrokenPipeError):
            self._requests.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        self._process.kill()

    def _read_output(self, stream: TextIO) -> None:
        with stream:
            for line in stream:
                self._task.add(line.rstrip("\n"))
        self._task.add(None)

    def _read_errors(self, stream: TextIO) -> None:
        with stream:
            for line in stream:
                self._task.errors.append(line.rstrip("\n"))


_idle: list[ForkServer] = []
"""Servers without a task."""


def idle_server() -> ForkServer:
    """A server without a task: the last one that was given back, or a new one."""
    with suppress(IndexError):
        while not (server := _idle.pop()).running:
            server.close()
        return server
    return ForkServer()


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

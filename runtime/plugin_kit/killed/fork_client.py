"""Servers from which tasks are forked, as their client sees them."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from runtime.model.task_spec import TaskSpec


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
        command = [sys.executable, "-c", "from runtime.plugin_kit.killed.fork_server import main; main()"]
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

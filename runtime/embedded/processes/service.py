"""Service: a process of the embedded cluster, base class of broker and worker."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from runtime.embedded.errors import StartError
from runtime.embedded.processes.process import spawn

_MAX_SIZE = 10 * 1024 * 1024
_TAIL_SIZE = 50_000
_ERROR_LINE = re.compile(r"\b(ERROR|FATAL|CRITICAL)\b|^(Caused by: )?[\w.$]+(Error|Exception|Refused)\b")


def open_log(log: Path) -> int:
    """Prepares a log before its writer starts: renames a large log. Returns the position of the next line."""
    if not log.exists():
        return 0
    size = log.stat().st_size
    if size <= _MAX_SIZE:
        return size
    log.replace(log.with_name(log.name + ".1"))
    return 0


def last_error(log: Path, since: int = 0) -> str:
    """The last error logged after position `since`, otherwise the last line; ignores stack frames."""
    if not log.exists():
        return "no output"
    with log.open("rb") as file:
        file.seek(max(since, log.stat().st_size - _TAIL_SIZE))
        lines = file.read().decode(errors="replace").splitlines()
    lines_logged = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(("at ", "... "))]
    errors = [line for line in lines_logged if _ERROR_LINE.search(line)]
    return (errors or lines_logged or ["no output"])[-1].removeprefix("Caused by: ")


class Service(ABC):
    """A process in its own process group, with its output in a log."""

    name: ClassVar[str]
    graceful: ClassVar[float]
    """Seconds from SIGTERM to SIGKILL."""

    def __init__(self, log: Path, ports: Sequence[int]) -> None:
        self.log = log
        self.ports = ports
        self._log_start = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def address(self) -> str:
        """The address on which the process listens, for display."""

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts the process; returns before it is ready."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._log_start = open_log(self.log)
        self._ended()
        command = self._prepare()
        self._process = spawn(command, self.log)

    @abstractmethod
    def ready(self) -> bool:
        """Whether the service answers requests; takes a second at most."""

    def ending(self) -> StartError:
        """The error that describes why the process has ended."""
        code = self._process.returncode if self._process else None
        error = last_error(self.log, self._log_start)
        return StartError(f"the {self.name} ended with code {code}: {error} ({self.log})")

    def stop(self) -> None:
        """Sends SIGTERM, then SIGKILL; returns when the process and its children have ended."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(self.graceful)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._ended()
        # Its children share its process group.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._ended()

    @abstractmethod
    def _prepare(self) -> list[str]:
        """Prepares the start; returns the command line."""

    def _ended(self) -> None:  # noqa: B027 - optional hook
        """Called after the process has ended and before each start."""


def wait_ready(services: Sequence[Service], timeout: float) -> None:
    """Waits until all services are ready. Raises StartError if a service ends, or after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    waiting = list(services)
    while True:
        for service in services:
            if not service.running():
                raise service.ending()
        waiting = [service for service in waiting if not service.ready()]
        if not waiting:
            return
        if time.monotonic() > deadline:
            raise StartError(f"the {waiting[0].name} was not ready within {timeout:.0f} s, see {waiting[0].log}")
        time.sleep(0.03)

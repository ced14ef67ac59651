"""A process of the embedded cluster: what broker and worker have in common."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from runtime.embedded.errors import StartError
from runtime.embedded.processes.logs import last_words, open_log
from runtime.embedded.processes.process import spawn


class Service(ABC):
    """Started and stopped by us, in a process group of its own, its output in a log."""

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
        """Where it listens, for people."""

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Returns before it is ready."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._log_start = open_log(self.log)
        self._ended()
        command = self._prepare()
        self._process = spawn(command, self.log)

    @abstractmethod
    def ready(self) -> bool:
        """Whether it answers for itself now; takes a second at most."""

    def ending(self) -> StartError:
        """Why it is not running any more."""
        code = self._process.returncode if self._process else None
        said = last_words(self.log, self._log_start)
        return StartError(f"the {self.name} ended with code {code}: {said} ({self.log})")

    def stop(self) -> None:
        """SIGTERM, then SIGKILL; returns when it and what it had started are gone."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(self.graceful)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._ended()
        # It led a process group; nobody of that may outlive it.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._ended()

    @abstractmethod
    def _prepare(self) -> list[str]:
        """Writes what it needs to start; returns its command line."""

    def _ended(self) -> None:  # noqa: B027 - optional hook
        """It is gone, or is going to be started anew."""


def wait_ready(services: Sequence[Service], timeout: float) -> None:
    """Returns when all of them are ready. StartError when one has ended or time is up."""
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

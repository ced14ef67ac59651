"""ProcessRef: a process identified by pid and start time, which detects reused pids."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.system.processes import die_with_parent, folder_of_children, start_time


@dataclass(frozen=True, slots=True)
class ProcessRef:
    """One of our processes, possibly started by an earlier command."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> ProcessRef:
        """The process with this pid. Raises ProcessLookupError."""
        started = start_time(pid)
        if started is None:
            raise ProcessLookupError(pid)
        return cls(pid, started)

    def alive(self) -> bool:
        return start_time(self.pid) == self.started

    def signal(self, number: signal.Signals) -> None:
        """Sends the signal, if the process is still ours."""
        if self.alive():
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                return

    def end(self, graceful: float) -> None:
        """Sends SIGTERM, and SIGKILL after `graceful` seconds. Returns when the process has ended."""
        self.signal(signal.SIGTERM)
        if not self.wait_gone(graceful):
            self.signal(signal.SIGKILL)
            self.wait_gone(5.0)

    def wait_gone(self, timeout: float) -> bool:
        deadline = time.monotonic() + timeout
        while self.alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True


def spawn(
    command: Sequence[str], log: Path, env: Mapping[str, str] | None = None, *, ends_with_us: bool = True
) -> subprocess.Popen[bytes]:
    """Starts a process in its own session, so that ^C does not reach it, and appends its output to `log`.

    With `ends_with_us`, the new process receives SIGTERM when this process ends, even by SIGKILL (Linux only).
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=env,
            start_new_session=True,
            cwd=folder_of_children(),
            preexec_fn=die_with_parent() if ends_with_us else None,
        )

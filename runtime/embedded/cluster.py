"""The embedded cluster as commands see it: up, down, attach, detach, status."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from runtime.embedded.broker import coordinates, jars
from runtime.embedded.broker.java import find_java
from runtime.embedded.errors import NotRunningError, StartError
from runtime.embedded.processes.lock import HeldLock, exclusive
from runtime.embedded.processes.logs import open_log
from runtime.embedded.processes.process import ProcessRef, spawn
from runtime.embedded.state import ClusterPhase, ClusterState, StateFolder

Say = Callable[[str], None]

_STOP_TIMEOUT = 45.0
_START_TIMEOUT = 300.0


@dataclass(frozen=True, slots=True)
class UpResult:
    """A cluster that is ready; `started` when it was not there before."""

    state: ClusterState
    started: bool


class EmbeddedCluster:
    """The embedded cluster of one state folder."""

    def __init__(self, folder: Path, say: Say) -> None:
        self._state = StateFolder(folder)
        self._say = say

    def up(self, attach: int | None) -> UpResult:
        """Starts the cluster unless it runs, and waits until it is ready.

        With `attach`, the pid of the process that will use it, it ends when nobody is attached any more; without, it
        stays until `down`. EmbeddedError when it cannot be started.
        """
        with exclusive(self._state.command_lock):
            running = self._running()
            if running is None:
                self._state.keep(False)
                fetch_jars()
                open_log(self._state.log)
            if attach is None:
                self._state.keep(True)
            else:
                self._state.attach(ProcessRef.of(attach))
            told = self._state.log.stat().st_size if self._state.log.exists() else 0
            starter = None if running else self._spawn()
            try:
                return UpResult(self._wait_ready(starter, told), running is None)
            except BaseException:
                if starter is not None:
                    starter.terminate()
                    starter.wait()
                raise

    def down(self) -> bool:
        """Ends the cluster, whoever is attached. False when there was none. StartError when it does not end."""
        state = self._state.read()
        if state is None or not state.running():
            from runtime.embedded.supervisor import end_leftovers

            end_leftovers(state, self._say)
            self._state.forget()
            return False
        state.supervisor.end(_STOP_TIMEOUT)
        return True

    def detach(self, pid: int) -> bool:
        """The process `pid` does not use the cluster any more. True when the cluster was ended because of that."""
        with exclusive(self._state.command_lock):
            self._state.detach(pid)
            if self._state.kept() or self._state.attached():
                return False
            return self.down()

    def status(self) -> ClusterState:
        """NotRunningError when there is no cluster."""
        state = self._state.read()
        if state is None or not state.running():
            raise NotRunningError("the embedded cluster is not running: start it with `headrace embedded up`")
        return state

    def attached(self) -> list[ProcessRef]:
        return self._state.attached()

    def _running(self) -> ClusterState | None:
        """The cluster that runs; one that is ending is waited for."""
        deadline = time.monotonic() + _STOP_TIMEOUT
        while True:
            state = self._state.read()
            if state is None or not state.running():
                break
            if state.phase is not ClusterPhase.STOPPING:
                return state
            if time.monotonic() > deadline:
                raise StartError(f"the embedded cluster (pid {state.supervisor.pid}) is ending, but does not end")
            time.sleep(0.05)
        lock = HeldLock(self._state.run_lock)
        try:
            # Taken without a record: a supervisor that has only just started.
            return None if lock.take() else self._appearing(deadline)
        finally:
            lock.release()

    def _appearing(self, deadline: float) -> ClusterState:
        while time.monotonic() < deadline:
            state = self._state.read()
            if state is not None and state.running():
                return state
            time.sleep(0.05)
        raise StartError("another start of the embedded cluster hangs")

    def _spawn(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "runtime.embedded", "run", "--detached"]
        return spawn(command, self._state.log, ends_with_us=False)

    def _wait_ready(self, starter: subprocess.Popen[bytes] | None, told: int) -> ClusterState:
        """`told` is how much of the supervisor's log has been passed on."""
        deadline = time.monotonic() + _START_TIMEOUT
        while time.monotonic() < deadline:
            told = self._tell_news(told)
            state = self._state.read()
            if state is not None and state.running():
                if state.phase is ClusterPhase.READY:
                    self._tell_news(told)
                    return state
            elif starter is None or starter.poll() is not None:
                self._tell_news(told)
                raise StartError(f"the embedded cluster did not start, see {self._state.log}")
            time.sleep(0.05)
        raise StartError(f"the embedded cluster was not ready within {_START_TIMEOUT:.0f} s, see {self._state.log}")

    def _tell_news(self, told: int) -> int:
        """Passes on what the supervisor has said since."""
        if not self._state.log.exists():
            return told
        with self._state.log.open("rb") as log:
            log.seek(told)
            news = log.read()
        # Only whole lines: the rest of the last one comes the next time.
        whole = news[: news.rfind(b"\n") + 1]
        for line in whole.decode(errors="replace").splitlines():
            self._say(line)
        return told + len(whole)


def fetch_jars() -> None:
    """Here rather than in the supervisor: progress and refusal are seen where the operator is."""
    jars.fetch("broker", coordinates.BROKER, find_java())

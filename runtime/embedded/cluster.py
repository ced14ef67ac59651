"""EmbeddedCluster: the commands up, down, detach and status for the cluster of one state folder."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from runtime.embedded.broker import broker
from runtime.embedded.errors import EmbeddedError, NotRunningError, StartError
from runtime.embedded.processes.ports import WantedPorts
from runtime.embedded.processes.process import ProcessRef, spawn
from runtime.embedded.processes.service import open_log
from runtime.embedded.state import ClusterPhase, ClusterState, StateFolder
from runtime.java.jvm import jars
from runtime.java.jvm.java import find_java
from runtime.system.locks import HeldLock, LockHeldError, exclusive
from runtime.system.python_process import module_command

Report = Callable[[str], None]

_STOP_TIMEOUT = 45.0
_START_TIMEOUT = 300.0


@dataclass(frozen=True, slots=True)
class UpResult:
    """A cluster that is ready, and whether this call started it."""

    state: ClusterState
    started: bool


class EmbeddedCluster:
    """The embedded cluster of one state folder."""

    def __init__(self, folder: Path, report: Report) -> None:
        self._state = StateFolder(folder)
        self._report = report

    def up(self, attach: int | None, wanted: WantedPorts) -> UpResult:
        """Starts the cluster with the wanted ports unless it is running, and waits until it is ready.

        With `attach`, the pid of a process that uses it, the cluster ends after the last attached process; without it,
        the cluster runs until `down`. Raises EmbeddedError if the cluster cannot be started, or runs on other ports.
        """
        with self._alone():
            running = self._running()
            if running is None:
                self._state.keep(False)
                fetch_jars()
                open_log(self._state.log)
            else:
                _check_ports(running, wanted)
            if attach is None:
                self._state.keep(True)
            else:
                self._state.attach(ProcessRef.of(attach))
            printed = self._state.log.stat().st_size if self._state.log.exists() else 0
            starter = None if running else self._spawn(wanted)
            try:
                return UpResult(self._wait_ready(starter, printed), running is None)
            except BaseException:
                if starter is not None:
                    starter.terminate()
                    starter.wait()
                raise

    def down(self) -> bool:
        """Ends the cluster, even if processes are attached. Returns False if the cluster was not running."""
        state = self._state.read()
        if state is None or not state.running():
            from runtime.embedded.supervisor import end_leftovers

            end_leftovers(state, self._report)
            self._state.forget()
            return False
        state.supervisor.end(_STOP_TIMEOUT)
        return True

    def detach(self, pid: int) -> bool:
        """Records that a process no longer uses the cluster. True if the cluster was ended because of that."""
        with self._alone():
            self._state.detach(pid)
            if self._state.kept() or self._state.attached():
                return False
            return self.down()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One command at a time. EmbeddedError if another one does not end."""
        try:
            with exclusive(self._state.command_lock):
                yield
        except LockHeldError as error:
            raise EmbeddedError(str(error)) from None

    def status(self) -> ClusterState:
        """The state of the cluster. Raises NotRunningError."""
        state = self._state.read()
        if state is None or not state.running():
            raise NotRunningError("the embedded cluster is not running: start it with `headrace embedded up`")
        return state

    def _running(self) -> ClusterState | None:
        """The running cluster; None if no cluster is running. Waits for the end of a cluster that is stopping."""
        deadline = time.monotonic() + _STOP_TIMEOUT
        while True:
            state = self._state.read()
            if state is None or not state.running():
                break
            if state.phase is not ClusterPhase.STOPPING:
                return state
            if time.monotonic() > deadline:
                raise StartError(f"the embedded cluster (pid {state.supervisor.pid}) did not end in time")
            time.sleep(0.05)
        lock = HeldLock(self._state.run_lock)
        try:
            # A supervisor that holds the lock without a record has just started.
            return None if lock.take() else self._wait_for_record(deadline)
        finally:
            lock.release()

    def _wait_for_record(self, deadline: float) -> ClusterState:
        while time.monotonic() < deadline:
            state = self._state.read()
            if state is not None and state.running():
                return state
            time.sleep(0.05)
        raise StartError("another process is starting the embedded cluster, but has not finished in time")

    def _spawn(self, wanted: WantedPorts) -> subprocess.Popen[bytes]:
        command = module_command("runtime.embedded", "run", "--detached", *wanted.options())
        return spawn(command, self._state.log, ends_with_us=False)

    def _wait_ready(self, starter: subprocess.Popen[bytes] | None, printed: int) -> ClusterState:
        """Waits for the phase READY. `printed` is the size of the part of the supervisor's log that was printed."""
        deadline = time.monotonic() + _START_TIMEOUT
        while time.monotonic() < deadline:
            printed = self._print_new_lines(printed)
            state = self._state.read()
            if state is not None and state.running():
                if state.phase is ClusterPhase.READY:
                    self._print_new_lines(printed)
                    return state
            elif starter is None or starter.poll() is not None:
                self._print_new_lines(printed)
                raise StartError(f"the embedded cluster did not start, see {self._state.log}")
            time.sleep(0.05)
        raise StartError(f"the embedded cluster was not ready within {_START_TIMEOUT:.0f} s, see {self._state.log}")

    def _print_new_lines(self, printed: int) -> int:
        """Prints new lines of the supervisor's log."""
        if not self._state.log.exists():
            return printed
        with self._state.log.open("rb") as log:
            log.seek(printed)
            news = log.read()
        # Only complete lines: an incomplete line is printed next time.
        whole = news[: news.rfind(b"\n") + 1]
        for line in whole.decode(errors="replace").splitlines():
            self._report(line)
        return printed + len(whole)


def _check_ports(running: ClusterState, wanted: WantedPorts) -> None:
    for name, port in (("broker", wanted.kafka), ("worker", wanted.rest)):
        part = running.parts.get(name)
        if port is not None and part is not None and not part.address.endswith(f":{port}"):
            raise EmbeddedError(
                f"the embedded cluster is running, with its {name} at {part.address} instead of port {port}: "
                f"end it with `headrace embedded down` before you start it on other ports"
            )


def fetch_jars() -> None:
    """Downloads the broker's jars, in this process so that the operator sees progress and errors."""
    jars.fetch("broker", broker.BROKER, find_java())

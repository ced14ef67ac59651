"""The supervisor of the embedded cluster: starts broker and worker, restarts them if they end, and stops them.

It runs as `embedded run` in the foreground, or in a session of its own when `embedded up` starts it. If it is killed,
its processes end too where the kernel supports that (Linux). The next start ends the remaining processes, identified by
the pids and start times in state.json.
"""

from __future__ import annotations

import http.client
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType

from runtime.demo.connectors import DemoFiles, create_once
from runtime.embedded.broker.broker import Broker, BrokerConfig
from runtime.embedded.errors import BusyError, StartError
from runtime.embedded.processes import ports
from runtime.embedded.processes.ports import WantedPorts
from runtime.embedded.processes.process import ProcessRef
from runtime.embedded.processes.service import Service, wait_ready
from runtime.embedded.state import ClusterPart, ClusterPhase, ClusterState, StateFolder
from runtime.embedded.worker import EmbeddedWorker, EmbeddedWorkerConfig
from runtime.java.jvm.java import find_java
from runtime.system.locks import HeldLock

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """A signal requested the end. A BaseException, so that only the outermost frame catches it."""


class StopSignals:
    """Raises Stopped in the main thread on a signal, or at the end of a deferred() block during which it arrived."""

    def __init__(self) -> None:
        self._deferred = False
        self._pending = False

    def install(self) -> None:
        for number in _STOPPING:
            signal.signal(number, self._on_signal)

    def ignore(self) -> None:
        """Ignores further signals while the process ends."""
        for number in _STOPPING:
            signal.signal(number, signal.SIG_IGN)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
        if self._pending:
            raise Stopped

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._deferred:
            self._pending = True
        else:
            raise Stopped


READY_TIMEOUT = 120.0
_LEFTOVER_GRACE = 10.0
_POLL_INTERVAL = 0.2
_ATTEMPTS = 3
_ATTACHMENT_INTERVAL = 1.0

Report = Callable[[str], None]


class Supervisor:
    """Runs the cluster of one state folder until a signal or, without `stays`, until no process is attached."""

    def __init__(self, folder: Path, report: Report, wanted: WantedPorts, *, stays: bool) -> None:
        self._state = StateFolder(folder)
        self._report = report
        self._wanted = wanted
        self._stays = stays
        self._signals = StopSignals()
        self._demo = DemoFiles(folder / "demo")
        self._broker: Broker
        self._worker: EmbeddedWorker
        self._record = ClusterState(ProcessRef.of(os.getpid()), ClusterPhase.STARTING)

    def run(self) -> None:
        """Runs the cluster. Raises BusyError if another supervisor runs, other EmbeddedErrors if the start fails."""
        lock = HeldLock(self._state.run_lock)
        if not lock.take():
            raise BusyError("the embedded cluster is already running: see `headrace embedded status`")
        self._signals.install()
        try:
            self._prepare()
            try:
                self._start()
                self._watch()
            finally:
                self._signals.ignore()
                self._end()
        except Stopped:
            self._report("the embedded cluster has stopped")
        finally:
            self._state.forget()
            lock.release()

    def _prepare(self) -> None:
        end_leftovers(self._state.read(), self._report)
        if self._stays:
            self._state.keep(True)
        self._write()
        self._choose_ports()

    def _choose_ports(self) -> None:
        folder = self._state.folder
        broker = BrokerConfig(folder / "broker", self._wanted.choose_kafka(), ports.choose())
        self._broker = Broker(broker, find_java())
        self._worker = EmbeddedWorker(
            EmbeddedWorkerConfig(folder / "worker", self._wanted.choose_rest(), broker.bootstrap)
        )

    def _start(self) -> None:
        started_at = time.monotonic()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._start_both()
                break
            except StartError as error:
                if attempt == _ATTEMPTS or not self._lost_a_port():
                    raise
                self._report(f"{error}; trying other ports")
                self._stop_both()
                self._choose_ports()
        self._create_demo()
        self._ready(time.monotonic() - started_at)

    def _start_both(self) -> None:
        # Together: the worker loads Python and Spark while it waits for the broker.
        self._start_part(self._broker)
        self._start_part(self._worker)
        wait_ready((self._broker, self._worker), READY_TIMEOUT)

    def _lost_a_port(self) -> bool:
        """Whether another process listens on the port of a process that has ended: a chosen port is not reserved."""
        ended = [part for part in (self._broker, self._worker) if not part.running()]
        return any(ports.is_open(port) for part in ended for port in part.ports)

    def _ready(self, seconds: float) -> None:
        self._record = replace(
            self._record,
            phase=ClusterPhase.READY,
            url=self._worker.config.url,
            bootstrap=self._broker.config.bootstrap,
            cluster_id=self._broker.cluster_id(),
        )
        # Before the record, since `up` prints the log until it reads the record.
        self._report(f"ready in {seconds:.1f} s: Connect {self._record.url}, Kafka {self._record.bootstrap}")
        self._write()

    def _create_demo(self) -> None:
        try:
            create_once(self._demo, self._worker.config.url, self._broker.config.bootstrap)
        except (OSError, http.client.HTTPException) as error:
            raise StartError(f"the demo could not be created: {error}") from error

    def _watch(self) -> None:
        restarts = _Restarts()
        next_check = 0.0
        while True:
            dead: list[Service] = [part for part in (self._broker, self._worker) if not part.running()]
            if dead:
                self._restart(dead, restarts)
            if time.monotonic() >= next_check:
                next_check = time.monotonic() + _ATTACHMENT_INTERVAL
                if self._abandoned():
                    self._report("no process is attached any more")
                    raise Stopped
            time.sleep(_POLL_INTERVAL)

    def _restart(self, dead: list[Service], restarts: _Restarts) -> None:
        started_at = time.monotonic()
        self._record = replace(self._record, phase=ClusterPhase.STARTING)
        for part in dead:
            self._report(f"{part.ending()}; restarting it")
            restarts.wait()
            self._start_part(part)
        try:
            wait_ready((self._broker, self._worker), READY_TIMEOUT)
        except StartError as error:
            self._report(str(error))
        else:
            self._ready(time.monotonic() - started_at)

    def _start_part(self, part: Service) -> None:
        with self._signals.deferred():
            part.start()
            if part.pid is not None:
                self._note(part, part.pid)

    def _note(self, part: Service, pid: int) -> None:
        try:
            process = ProcessRef.of(pid)
        except ProcessLookupError:
            return  # it has ended already, which wait_ready() reports
        parts = {**self._record.parts, part.name: ClusterPart(process, part.address)}
        self._record = replace(self._record, parts=parts)
        self._write()

    def _abandoned(self) -> bool:
        """Whether no process is attached and `keep` is not set, checked under the lock for attaching."""
        if self._state.kept() or self._state.attached():
            return False
        lock = HeldLock(self._state.command_lock)
        try:
            if not lock.take() or self._state.kept() or self._state.attached():
                return False
            self._record = replace(self._record, phase=ClusterPhase.STOPPING)
            self._write()
            return True
        finally:
            lock.release()

    def _end(self) -> None:
        self._record = replace(self._record, phase=ClusterPhase.STOPPING)
        self._write()
        self._stop_both()

    def _stop_both(self) -> None:
        # The worker first, since it commits offsets while it stops.
        self._worker.stop()
        self._broker.stop()

    def _write(self) -> None:
        self._state.write(self._record)


class _Restarts:
    """Delays repeated restarts, by up to 15 seconds."""

    def __init__(self) -> None:
        self._pause = 0.0
        self._last = 0.0

    def wait(self) -> None:
        now = time.monotonic()
        self._pause = 0.0 if now - self._last > 60.0 else min(self._pause * 2 + 0.5, 15.0)
        time.sleep(self._pause)
        self._last = time.monotonic()


def end_leftovers(state: ClusterState | None, report: Report) -> None:
    """Ends the processes that a killed supervisor has left, the worker before the broker."""
    if state is None or state.running():
        return
    for name in ("worker", "broker"):
        part = state.parts.get(name)
        if part is not None and part.process.alive():
            report(f"ending the {name} of an earlier start (pid {part.process.pid})")
            part.process.end(_LEFTOVER_GRACE)

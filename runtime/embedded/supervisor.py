"""The one process that owns the embedded cluster: starts broker and worker, starts dead ones again, ends them all.

It is `embedded run`, in the foreground, or started by `embedded up` in a session of its own. Killed with SIGKILL it
takes its parts with it where the kernel offers that; what is left anyway is ended by the next start, which finds pids
and start times in state.json.
"""

from __future__ import annotations

import http.client
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from runtime.demo.connectors import DemoFiles
from runtime.demo.create import create_once
from runtime.demo.feeder import Feeder
from runtime.embedded.broker.broker import Broker, BrokerConfig
from runtime.embedded.broker.java import find_java
from runtime.embedded.errors import BusyError, StartError
from runtime.embedded.processes import ports
from runtime.embedded.processes.lock import HeldLock
from runtime.embedded.processes.process import ProcessRef
from runtime.embedded.processes.service import Service, wait_ready
from runtime.embedded.processes.signals import Stopped, StopSignals
from runtime.embedded.state import ClusterPart, ClusterPhase, ClusterState, StateFolder
from runtime.embedded.worker import EmbeddedWorker, EmbeddedWorkerConfig

BROKER_PORT = 9092
REST_PORT = 8083
READY_TIMEOUT = 120.0
_LEFTOVER_GRACE = 10.0
_TICK = 0.2
_ATTEMPTS = 3
_LOOK_EVERY = 1.0

Say = Callable[[str], None]


class Supervisor:
    """Runs the cluster of one state folder until a signal; unless it `stays`, until nobody is attached any more."""

    def __init__(self, folder: Path, say: Say, *, stays: bool) -> None:
        self._state = StateFolder(folder)
        self._say = say
        self._stays = stays
        self._signals = StopSignals()
        self._demo = DemoFiles(folder / "demo")
        self._feeder = Feeder(self._demo.source)
        self._feed_problem = ""
        self._broker: Broker
        self._worker: EmbeddedWorker
        self._record = ClusterState(ProcessRef.of(os.getpid()), ClusterPhase.STARTING)

    def run(self) -> None:
        """BusyError when another supervisor has the folder, other EmbeddedErrors when the start fails."""
        lock = HeldLock(self._state.run_lock)
        if not lock.take():
            raise BusyError("the embedded cluster is running already: see `headrace embedded status`")
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
            self._say("the embedded cluster has ended")
        finally:
            self._state.forget()
            lock.release()

    def _prepare(self) -> None:
        end_leftovers(self._state.read(), self._say)
        if self._stays:
            self._state.keep(True)
        self._write()
        self._choose_ports()

    def _choose_ports(self) -> None:
        folder = self._state.folder
        broker = BrokerConfig(folder / "broker", ports.choose(BROKER_PORT), ports.choose())
        self._broker = Broker(broker, find_java())
        self._worker = EmbeddedWorker(
            EmbeddedWorkerConfig(folder / "worker", ports.choose(REST_PORT), broker.bootstrap)
        )

    def _start(self) -> None:
        began = time.monotonic()
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._start_both()
                break
            except StartError as error:
                if attempt == _ATTEMPTS or not self._lost_a_port():
                    raise
                self._say(f"{error}; trying other ports")
                self._stop_both()
                self._choose_ports()
        self._create_demo()
        self._ready(time.monotonic() - began)

    def _start_both(self) -> None:
        # Both at once: the worker waits for its broker, and has Python and Spark to start meanwhile.
        self._start_part(self._broker)
        self._start_part(self._worker)
        wait_ready((self._broker, self._worker), READY_TIMEOUT)

    def _lost_a_port(self) -> bool:
        """Whether somebody listens in the place of a part that has ended: ports are not ours until it listens."""
        ended = [part for part in (self._broker, self._worker) if not part.running()]
        return any(ports.answers(port) for part in ended for port in part.ports)

    def _ready(self, seconds: float) -> None:
        self._record = replace(
            self._record,
            phase=ClusterPhase.READY,
            url=self._worker.config.url,
            bootstrap=self._broker.config.bootstrap,
            cluster_id=self._broker.cluster_id(),
        )
        # Said before it is written: whoever waits for the record passes on what was said.
        self._say(f"ready in {seconds:.1f} s: Connect {self._record.url}, Kafka {self._record.bootstrap}")
        self._write()

    def _create_demo(self) -> None:
        try:
            create_once(self._demo, self._worker.config.url, self._broker.config.bootstrap)
        except (OSError, http.client.HTTPException) as error:
            raise StartError(f"the demo could not be created: {error}") from error

    def _watch(self) -> None:
        restarts = _Restarts()
        next_look = 0.0
        while True:
            self._feed()
            dead: list[Service] = [part for part in (self._broker, self._worker) if not part.running()]
            if dead:
                self._start_again(dead, restarts)
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + _LOOK_EVERY
                if self._abandoned():
                    self._say("nobody is attached any more")
                    raise Stopped
            time.sleep(_TICK)

    def _feed(self) -> None:
        try:
            self._feeder.feed()
        except OSError as error:
            # A full disk or a removed folder: the demo pauses, the cluster does not end.
            if str(error) != self._feed_problem:
                self._feed_problem = str(error)
                self._say(f"the demo cannot be fed: {error}")

    def _start_again(self, dead: list[Service], restarts: _Restarts) -> None:
        began = time.monotonic()
        self._record = replace(self._record, phase=ClusterPhase.STARTING)
        for part in dead:
            self._say(f"{part.ending()}; starting it again")
            restarts.wait()
            self._start_part(part)
        try:
            wait_ready((self._broker, self._worker), READY_TIMEOUT)
        except StartError as error:
            self._say(str(error))
        else:
            self._ready(time.monotonic() - began)

    def _start_part(self, part: Service) -> None:
        with self._signals.deferred():
            part.start()
            if part.pid is not None:
                self._note(part, part.pid)

    def _note(self, part: Service, pid: int) -> None:
        try:
            process = ProcessRef.of(pid)
        except ProcessLookupError:
            return  # ended at once: whoever waits for it says so
        parts = {**self._record.parts, part.name: ClusterPart(process, part.address)}
        self._record = replace(self._record, parts=parts)
        self._write()

    def _abandoned(self) -> bool:
        """Nobody attached, and no operator who wants it to stay. Asked under the lock under which others attach."""
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
        # The worker commits its offsets while it stops: it goes first.
        self._worker.stop()
        self._broker.stop()

    def _write(self) -> None:
        self._state.write(self._record)


class _Restarts:
    """Waits longer and longer while something dies again and again."""

    def __init__(self) -> None:
        self._pause = 0.0
        self._last = 0.0

    def wait(self) -> None:
        now = time.monotonic()
        self._pause = 0.0 if now - self._last > 60.0 else min(self._pause * 2 + 0.5, 15.0)
        time.sleep(self._pause)
        self._last = time.monotonic()


def end_leftovers(state: ClusterState | None, say: Say) -> None:
    """Ends the parts of a supervisor that died without doing so, the worker before its broker."""
    if state is None or state.running():
        return
    for name in ("worker", "broker"):
        part = state.parts.get(name)
        if part is not None and part.process.alive():
            say(f"ending the {name} that an earlier start left behind (pid {part.process.pid})")
            part.process.end(_LEFTOVER_GRACE)

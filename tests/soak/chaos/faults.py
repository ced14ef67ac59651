"""Faults of brokers, workers and their processes, and their repairs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar
from urllib.parse import quote

from runtime.embedded.errors import StartError
from runtime.embedded.processes.process import ProcessRef
from tests.soak.chaos.client import PATIENCE, PatientConnect
from tests.soak.chaos.connectors import SLOW, Source
from tests.soak.chaos.plan import Fault
from tests.support.broker import EmbeddedBroker
from tests.support.clusters.worker_group import SESSION, WorkerGroup, worker_id
from tests.support.kafka.broker_cluster import BrokerCluster
from tests.support.processes import children, command_line, is_slot
from tests.support.workers import WorkerProcess

T = TypeVar("T")

_MARKS = {
    "task host": "headrace.Main",
    "driver": "runtime.engine.driver.driver",
    "Spark's JVM": "org.apache.spark.api.python.PythonGatewayServer",
    "plugin host": "runtime.host",
}
_BUSY = "while True: pass"
_STARTING = 10.0  # seconds from new configurations to the constructors of the tasks


class Chaos:
    """Causes faults, and repairs them after a while. One worker always runs, and all brokers but one."""

    def __init__(
        self, group: WorkerGroup, cluster: BrokerCluster, connect: PatientConnect, sources: Sequence[Source]
    ) -> None:
        self._group, self._cluster, self._connect = group, cluster, connect
        self._sources = [source for source in sources if source.config["connector.class"] == SLOW]
        self._repairs: list[tuple[float, Callable[[], None]]] = []
        self._broken: set[EmbeddedBroker] = set()
        self.caused: Counter[str] = Counter()
        self.skipped: Counter[str] = Counter()  # no such process then
        self.faults: list[str] = []

    def cause(self, fault: Fault) -> None:
        try:
            caused = self._causes(fault.kind)(fault)
        except (AssertionError, StartError) as failed:
            self.faults.append(f"{fault.kind}: {failed}")
            return
        (self.caused if caused else self.skipped)[fault.kind] += 1

    def _causes(self, kind: str) -> Callable[[Fault], bool]:
        """What causes a fault; False if it cannot now."""
        match kind.split():
            case ["broker", "killed"]:
                return lambda fault: self._kill_broker(fault, self._any(self._cluster.brokers, fault))
            case ["controller", "killed"]:
                return lambda fault: self._kill_broker(fault, self._cluster.controller)
            case ["broker", "frozen"]:
                return self._freeze_broker
            case ["brokers", "restarted"]:
                return self._restart_brokers
            case ["worker", "killed"]:
                return lambda fault: self._kill_worker(fault, self._worker(fault))
            case ["leader", "killed"]:
                return lambda fault: self._kill_worker(fault, self._leader() or self._worker(fault))
            case ["worker", "ended"]:
                return self._end_worker
            case ["worker", "drained"]:
                return self._drain
            case ["worker", "frozen", *rest]:
                return lambda fault: self._freeze_worker(fault, whole=bool(rest))
            case ["slot", "frozen"]:
                return self._freeze_slot
            case ["frozen", "start"]:
                return self._freeze_start
            case ["load"]:
                return self._load
            case _:
                return self._kill_process

    # Repairs

    def wait(self, seconds: float) -> None:
        """Sleeps, and makes the repairs that are due meanwhile."""
        until = time.monotonic() + seconds
        while self._repairs and min(self._repairs, key=lambda repair: repair[0])[0] <= until:
            self._repair_next()
        time.sleep(max(0.0, until - time.monotonic()))

    def repair_all(self) -> None:
        while self._repairs:
            self._repair_next()

    def _repair_next(self) -> None:
        self._repairs.sort(key=lambda repair: repair[0])
        due, repair = self._repairs.pop(0)
        time.sleep(max(0.0, due - time.monotonic()))
        repair()

    def _later(self, seconds: float, repair: Callable[[], None]) -> bool:
        self._repairs.append((time.monotonic() + seconds, repair))
        return True

    # Workers

    def _worker(self, fault: Fault) -> WorkerProcess:
        """A living worker beside which another one lives."""
        while len(self._group.living) < 2:
            self._repair_next()
        return self._any(self._group.living, fault)

    def _leader(self) -> WorkerProcess | None:
        status, answer = self._connect.request("GET", "/workers")
        leader = answer["leader"] if status == 200 else ""
        return next((worker for worker in self._group.living if worker_id(worker) == leader), None)

    def _kill_worker(self, fault: Fault, worker: WorkerProcess) -> bool:
        if len(self._group.living) < 2:
            return False
        self._group.kill(worker)
        return self._later(fault.lasts / 2, lambda: worker.start(wait=False))

    def _end_worker(self, fault: Fault) -> bool:
        worker = self._worker(fault)
        if (code := self._group.stop(worker)) != 0:
            self.faults.append(f"SIGTERM ended {worker.url} with code {code}: {worker.log}")
        return self._later(fault.lasts / 2, lambda: worker.start(wait=False))

    def _freeze_worker(self, fault: Fault, whole: bool) -> bool:
        worker = self._worker(fault)
        self._group.freeze(worker, whole)
        return self._later(fault.lasts, lambda: self._group.thaw(worker))

    def _drain(self, fault: Fault) -> bool:
        path = f"/workers/{quote(worker_id(self._worker(fault)), safe='')}"
        if self._connect.request("PUT", f"{path}/drain")[0] != 202:
            return False
        return self._later(fault.lasts, lambda: self._connect.until("PUT", f"{path}/uncordon", also=(404,)))

    # Processes of workers

    def _kill_process(self, fault: Fault) -> bool:
        found = self._process(fault, fault.kind.removesuffix(" killed"))
        if found is not None:
            found.signal(signal.SIGKILL)
        return found is not None

    def _freeze_slot(self, fault: Fault) -> bool:
        slot = self._process(fault, "slot")
        if slot is None:
            return False
        slot.signal(signal.SIGSTOP)
        return self._later(fault.lasts, lambda: slot.signal(signal.SIGCONT))

    def _process(self, fault: Fault, kind: str) -> ProcessRef | None:
        """One of the processes of this kind below all living workers."""
        below = [pid for worker in self._group.living for pid in children(worker.pid)]
        found = [pid for pid in below if (is_slot(pid) if kind == "slot" else _MARKS[kind] in command_line(pid))]
        try:
            return ProcessRef.of(self._any(found, fault)) if found else None
        except ProcessLookupError:
            return None

    def _freeze_start(self, fault: Fault) -> bool:
        """Freezes a worker while its tasks are constructed, and changes their configurations meanwhile, which needs the
        leader and the connector; the worker continues before its session ends."""
        source = self._any(self._sources, fault)
        if not source.lock.acquire(timeout=15):
            return False
        try:
            self._turn(source)
            worker = self._constructing(source)
            if worker is None or len(self._group.living) < 2:
                return False
            self._group.freeze(worker)
            self._later(SESSION - 0.5, lambda: self._group.thaw(worker))
            self._turn(source)
            return True
        finally:
            source.lock.release()

    def _constructing(self, source: Source) -> WorkerProcess | None:
        """A worker that constructs a task of this source now, and is neither the leader nor runs the connector."""
        path = f"/connectors/{source.name}"
        until = time.monotonic() + _STARTING
        while time.monotonic() < until:
            self.wait(0.1)
            status, shown = self._connect.request("GET", f"{path}/status")
            leader = self._leader()
            for task in shown["tasks"] if status == 200 and leader else []:
                worker = next((one for one in self._group.living if worker_id(one) == task["worker_id"]), None)
                if worker in (None, leader) or task["worker_id"] == shown["connector"]["worker_id"]:
                    continue
                if "__init__" in str(self._connect.request("GET", f"{path}/tasks/{task['id']}/stack")[1]):
                    return worker
        return None

    def _turn(self, source: Source) -> None:
        source.config |= {"turn": str(int(source.config["turn"]) + 1)}
        self._connect.until("PUT", f"/connectors/{source.name}/config", source.config)

    # Brokers

    def _kill_broker(self, fault: Fault, broker: EmbeddedBroker) -> bool:
        self._await_brokers()
        broker.kill()
        return self._break(fault, broker, lambda: broker.start(wait=False))

    def _freeze_broker(self, fault: Fault) -> bool:
        self._await_brokers()
        broker = self._any(self._cluster.brokers, fault)
        os.kill(broker.pid, signal.SIGSTOP)
        return self._break(fault, broker, lambda: os.kill(broker.pid, signal.SIGCONT))

    def _restart_brokers(self, fault: Fault) -> bool:
        self._await_brokers()
        for broker in self._cluster.brokers:
            broker.stop()
            broker.start(PATIENCE)
            self._cluster.wait_in_sync(PATIENCE)
        return True

    def _break(self, fault: Fault, broker: EmbeddedBroker, repair: Callable[[], None]) -> bool:
        self._broken.add(broker)

        def repaired() -> None:
            repair()
            self._broken.discard(broker)

        return self._later(fault.lasts, repaired)

    def _await_brokers(self) -> None:
        """Only one broker is broken at a time, and the others have all records before it is."""
        while self._broken:
            self._repair_next()
        self._cluster.wait_in_sync()

    # The machine

    def _load(self, fault: Fault) -> bool:
        """Twice as many computing processes as processors."""
        busy = [subprocess.Popen([sys.executable, "-c", _BUSY]) for _ in range(2 * (os.cpu_count() or 1))]

        def end() -> None:
            for process in busy:
                process.kill()
                process.wait()

        return self._later(fault.lasts, end)

    @staticmethod
    def _any(candidates: Sequence[T], fault: Fault) -> T:
        return candidates[int(fault.choice * len(candidates))]

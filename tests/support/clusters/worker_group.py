"""Several workers in one group, ours or Apache's, with their processes: killed, frozen, stopped and started again."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runtime.embedded.processes.process import ProcessRef
from tests.support.broker import KafkaBroker, unique
from tests.support.clusters.rest import is_rebalancing, message_of
from tests.support.connect import Connect
from tests.support.processes import child_refs, command_line
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, java_worker, our_worker, storage_topics

SESSION = 6.0
"""Seconds of the groups' session.timeout.ms, the least that a broker accepts unless configured otherwise."""

QUICK = {
    "session.timeout.ms": str(int(SESSION * 1000)),
    "heartbeat.interval.ms": "1000",
    "rebalance.timeout.ms": "20000",
    "scheduled.rebalance.max.delay.ms": "0",
}
"""Properties of groups that recover soon."""

STALE = "due to stale configuration"
NO_LEADER = "due to no known leader URL"
UNREACHABLE, UNFINISHED = "cannot be reached", "is being finished; try again in a moment"


class WorkerGroup:
    """The workers of one group on one broker. `close()` ends all processes that were ever started."""

    def __init__(self, folder: Path, broker: KafkaBroker, overrides: Mapping[str, str] | None = None) -> None:
        self.folder, self.broker = folder, broker
        self.group_id = unique("group")
        self.properties = {
            "group.id": self.group_id,
            **storage_topics(self.group_id),
            "offset.storage.partitions": "5",
            "status.storage.partitions": "2",
            **QUICK,
            **(overrides or {}),
        }
        self.workers: list[WorkerProcess] = []
        self._frozen: dict[WorkerProcess, list[ProcessRef]] = {}
        self._started: set[ProcessRef] = set()

    def ours(self, overrides: Mapping[str, str] | None = None) -> WorkerProcess:
        """One more of our workers, not started yet."""
        worker = our_worker(self.folder, self.broker.bootstrap, {**self.properties, **(overrides or {})})
        self.workers.append(worker)
        return worker

    def java(self, overrides: Mapping[str, str] | None = None) -> WorkerProcess:
        """One more worker of Apache Kafka Connect, not started yet."""
        worker = java_worker(self.folder, self.broker.bootstrap, {**self.properties, **(overrides or {})})
        self.workers.append(worker)
        return worker

    def start(self, *workers: WorkerProcess, timeout: float = 120.0) -> None:
        """Starts workers at the same time, and waits until all are healthy."""
        for worker in workers:
            worker.start(wait=False)
        for worker in workers:
            worker.wait_healthy(timeout)
            self.remember(worker)

    # Failures

    def kill(self, worker: WorkerProcess) -> None:
        """Sends SIGKILL to the worker's process only."""
        self.remember(worker)
        worker.kill()

    def stop(self, worker: WorkerProcess, timeout: float = 60.0) -> int:
        """Sends SIGTERM, and returns the exit code."""
        self.remember(worker)
        return worker.stop(timeout)

    def freeze(self, worker: WorkerProcess, whole: bool = False) -> None:
        """Sends SIGSTOP to the worker's process, or to the `whole` tree of its processes."""
        self.remember(worker)
        frozen = [ProcessRef.of(worker.pid), *(child_refs(worker.pid) if whole else [])]
        self._frozen[worker] = frozen
        for process in frozen:
            process.signal(signal.SIGSTOP)

    def thaw(self, worker: WorkerProcess) -> None:
        """Sends SIGCONT to the frozen processes, to the worker itself last."""
        for process in reversed(self._frozen.pop(worker, [])):
            process.signal(signal.SIGCONT)

    # State of the group

    @property
    def living(self) -> list[WorkerProcess]:
        """The workers that run and are not frozen."""
        return [worker for worker in self.workers if worker.running() and worker not in self._frozen]

    @property
    def connect(self) -> GroupConnect:
        """The REST API of any living worker."""
        return GroupConnect(self)

    def wait_running(self, names: Iterable[str], timeout: float = 60.0, tasks: int = 1) -> float:
        """Waits until a living worker reports that these connectors and all their tasks are RUNNING on living workers;
        returns the seconds."""
        started, wanted = time.monotonic(), set(names)

        def all_running() -> bool:
            return self.running(tasks) >= wanted

        try:
            wait_until(all_running, timeout, every=0.1)
        except AssertionError:
            raise AssertionError(f"not all RUNNING within {timeout:g} s: {self.states(wanted)}") from None
        return time.monotonic() - started

    def running(self, tasks: int = 1) -> set[str]:
        """The connectors that are RUNNING on living workers with this number of RUNNING tasks."""
        ids = {worker_id(worker) for worker in self.living}
        entries = self._entries()
        return {name for name, entry in entries.items() if _is_running(entry.get("status"), ids, tasks)}

    def states(self, names: Iterable[str]) -> Counter[str]:
        """The number of connectors and tasks by state and worker."""
        found: Counter[str] = Counter()
        entries = self._entries()
        for name in names:
            status = entries.get(name, {}).get("status")
            if not status:
                found["no status"] += 1
                continue
            for part in (status["connector"], *status["tasks"]):
                found[f"{'task' if 'id' in part else 'connector'} {part['state']} on {part['worker_id']}"] += 1
        return found

    def owners(self, name: str) -> dict[int, str]:
        """The worker ids of a connector's tasks, and of the connector itself as task -1."""
        status = self.connect.status(name)
        return {-1: status["connector"]["worker_id"], **{task["id"]: task["worker_id"] for task in status["tasks"]}}

    def worker_of(self, name: str, task: int = 0) -> WorkerProcess:
        """The worker on which a task runs (-1: the connector), by the status."""
        owner = self.owners(name)[task]
        return next(worker for worker in self.workers if worker_id(worker) == owner)

    def _entries(self) -> dict[str, Any]:
        entries: dict[str, Any] = self.connect.ask("GET", "/connectors?expand=status")
        return entries

    # Cleanup

    def remember(self, worker: WorkerProcess) -> None:
        """Remembers the worker's current processes, for `close()`."""
        if worker.running():
            self._started |= {ProcessRef.of(worker.pid), *child_refs(worker.pid)}

    def close(self) -> list[str]:
        """Ends all workers; returns the command lines of processes that outlived their workers, after killing them."""
        for worker in list(self._frozen):
            self.thaw(worker)
        for worker in self.workers:
            self.remember(worker)
            if worker.running():
                worker.terminate()
        for worker in self.workers:
            if worker.running():
                worker.stop(30)
        try:
            wait_until(lambda: not any(process.alive() for process in self._started), 20, every=0.1)
        except AssertionError:
            left = [process for process in self._started if process.alive()]
            found = [command_line(process.pid)[:200] for process in left]
            for process in left:
                process.signal(signal.SIGKILL)
            return found
        return []


class GroupConnect(Connect):
    """The REST API of a group: asks living workers in turn, and repeats requests that are answered with 409 because of
    a rebalance, as clients of Connect do."""

    def __init__(self, group: WorkerGroup, retry: float = 60.0) -> None:
        super().__init__(group.living[0])
        self._group, self._retry = group, retry

    def request(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        deadline = time.monotonic() + self._retry
        while True:
            answer = self._once(method, path, body)
            if answer is not None and not is_transient(*answer):
                return answer
            if time.monotonic() > deadline:
                raise AssertionError(f"{method} {path}: not answered within {self._retry:g} s: {answer}")
            time.sleep(0.1)

    def _once(self, method: str, path: str, body: Any) -> tuple[int, Any] | None:
        """The answer of the first living worker that accepts the connection and has started."""
        for worker in self._group.living:
            try:
                answer = worker.request(method, path, body)
                if answer[0] == 503:
                    continue
                return answer
            except ConnectionRefusedError:
                continue
            except OSError as error:
                if isinstance(getattr(error, "reason", None), ConnectionRefusedError) or method == "GET":
                    continue
                raise
        return None


def is_transient(status: int, body: Any) -> bool:
    """Whether the answer asks the client to repeat the request, since the group rebalances."""
    others = (STALE, NO_LEADER, UNREACHABLE, UNFINISHED)
    return is_rebalancing(status, body) or (status == 409 and any(part in message_of(body) for part in others))


def is_transient_in_java(status: int, body: Any) -> bool:
    """Whether Apache's worker answers 500 for the same reason, or 404 without a body: its listener is open for a moment
    before and after it serves the API."""
    if status == 404 and not body:
        return True
    message = message_of(body)
    return status == 500 and ("a rebalance is expected" in message or "trying to forward REST request" in message)


def worker_id(worker: WorkerProcess) -> str:
    """The worker's id in statuses."""
    return worker.url.removeprefix("http://")


@contextmanager
def worker_group(
    folder: Path, broker: KafkaBroker, overrides: Mapping[str, str] | None = None
) -> Iterator[WorkerGroup]:
    """A group without workers; all its processes are ended at the end."""
    group = WorkerGroup(folder, broker, overrides)
    try:
        yield group
    finally:
        group.close()


def _is_running(status: Any, workers: set[str], tasks: int) -> bool:
    if not status or len(status["tasks"]) != tasks:
        return False
    return all(
        part["state"] == "RUNNING" and part["worker_id"] in workers for part in (status["connector"], *status["tasks"])
    )

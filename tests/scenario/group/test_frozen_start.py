"""A task of an exactly-once source starts on a worker whose process is frozen, while new task configs are written.

The start is held before the task's producer is registered, so that the registration follows the leader's round of
fencing, and gets an epoch that nothing fences."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.clusters.worker_group import WorkerGroup, worker_group, worker_id
from tests.support.connect import STRINGS
from tests.support.kafka.topics import contents, pairs
from tests.support.plugins import PLUGINS
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

SETTINGS = {
    "exactly.once.source.support": "enabled",
    "headrace.slots": "1",
    "plugin.path": PLUGINS,
    "session.timeout.ms": "30000",  # no worker is frozen for as long,
    "headrace.lease.ms": "25000",  # and no slot loses its lease meanwhile, however busy the machine is
}


class Change(Enum):
    """The change that meets the start."""

    SWAP = "the two tasks swap their partitions"
    ONE_TASK = "one task gets both partitions"
    RECREATE = "the connector is deleted and created again, with swapped partitions"


class Moment(Enum):
    """When the held start continues."""

    FENCED = "when the leader has fenced the tasks that ran with earlier task configs"
    PROGRESS = "when a new task has committed records of the partition"
    THAWED = "when the worker has continued"


@pytest.fixture(scope="module")
def group(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerGroup]:
    """Two workers; the first one leads."""
    with worker_group(tmp_path_factory.mktemp("frozen-start"), broker, SETTINGS) as group:
        group.start(group.ours())
        group.start(group.ours())
        wait_until(lambda: len(group.workers[1].request("GET", "/workers")[1]["workers"]) == 2, 30)
        yield group


class Source:
    """An exactly-once source of two partitions: connector and task 0 run on the leader, task 1 on the other worker."""

    def __init__(self, group: WorkerGroup, folder: Path) -> None:
        self.group, self.leader, self.follower = group, *group.workers
        self.name, self.topic = unique("counting"), group.broker.create_topic()
        self._folder, self._gate, self._shift, self._tasks = folder, 0, 0, 1

    def create(self) -> None:
        self.group.connect.create(self.name, self._config())

    def place(self) -> None:
        """Give task 1, and nothing else, to the follower."""
        at_leader = {-1: self.leader.url, 0: self.leader.url}
        if self._owners() == {**at_leader, 1: self.follower.url}:
            return
        if self._owners() != at_leader:
            self._set_worker(self.follower, "drain")
            self._put(tasks=1)
            wait_until(lambda: self._owners() == at_leader, 60)
            self._set_worker(self.follower, "uncordon")
        self._set_worker(self.leader, "cordon")
        self._put(tasks=2)
        wait_until(lambda: self._owners().get(1) == self.follower.url, 60)
        self._set_worker(self.leader, "uncordon")

    def _set_worker(self, worker: WorkerProcess, verb: str) -> None:
        self.group.connect.ask("PUT", f"/workers/{worker_id(worker)}/{verb}")

    def hold_start(self) -> None:
        """Restart task 1, and hold its start."""
        self._closed().touch()
        self.group.connect.ask("POST", f"/connectors/{self.name}/tasks/1/restart")
        wait_until(self._waiting().exists)

    def continue_start(self) -> None:
        """Let the held start continue."""
        self._closed_before.unlink()

    def apply(self, change: Change) -> None:
        """Change the connector; starts with the new configuration are not held."""
        self._closed_before, self._gate = self._closed(), self._gate + 1
        if change is Change.ONE_TASK:
            self._put(tasks=1)
            return
        self._shift = 1 - self._shift
        if change is Change.SWAP:
            self._put(tasks=2)
        else:
            self.group.connect.ask("DELETE", f"/connectors/{self.name}")
            self.create()

    def position(self, partition: str) -> int:
        """The committed offset of a partition."""
        key = json.dumps([self.name, {"name": partition}], separators=(",", ":")).encode()
        topic = self.group.properties["offset.storage.topic"]
        found = [value for read, value in pairs(self.group.broker.bootstrap, topic) if read == key]
        return int(json.loads(found[-1] or b"{}")["next"]) if found else 0

    def has_passed(self, partition: str, position: int) -> bool:
        return self.position(partition) > position

    @property
    def held_partition(self) -> str:
        """The partition of task 1."""
        return "ab"[1 - self._shift]

    def fencing_rounds(self) -> int:
        found = pairs(self.group.broker.bootstrap, self.group.properties["config.storage.topic"])
        return sum(key == f"tasks-fencing-{self.name}".encode() for key, _ in found)

    def wait_progress(self) -> None:
        """Wait until further records of both partitions have been committed."""
        before = {partition: self.position(partition) for partition in "ab"}
        for partition, position in before.items():
            wait_until(partial(self.has_passed, partition, position), 60, f"progress of {partition}")

    def faults(self) -> tuple[int, int, int]:
        """Records that committed readers find twice, out of order, and not at all."""
        doubled = disordered = missing = 0
        values = contents(self.group.broker.bootstrap, [self.topic])[self.topic]
        for partition in "ab":
            numbers = [int(number) for name, number in map(str.split, values) if name == partition]
            doubled += len(numbers) - len(set(numbers))
            disordered += sum(after < before for before, after in pairwise(numbers))
            missing += len(set(range(max(numbers) + 1)) - set(numbers))
        return doubled, disordered, missing

    def _put(self, tasks: int) -> None:
        self._tasks = tasks
        self.group.connect.ask("PUT", f"/connectors/{self.name}/config", self._config())

    def _config(self) -> dict[str, str]:
        return {
            "connector.class": "headrace_gated_plugins.CountingSourceConnector",
            "tasks.max": str(self._tasks),
            "topic": self.topic,
            "shift": str(self._shift),
            "transforms": "gate",
            "transforms.gate.type": "headrace_gated_plugins.Gate",
            "transforms.gate.closed": str(self._closed()),
            "transforms.gate.waiting": str(self._waiting()),
            **STRINGS,
        }

    def _closed(self) -> Path:
        return self._folder / f"closed-{self._gate}"

    def _waiting(self) -> Path:
        return self._folder / f"waiting-{self._gate}"

    def _owners(self) -> dict[int, str]:
        """The workers on which connector and tasks are RUNNING, by their status."""
        status = self.group.connect.request("GET", f"/connectors/{self.name}/status")[1]
        parts = {-1: status["connector"], **{task["id"]: task for task in status["tasks"]}} if "tasks" in status else {}
        return {number: f"http://{p['worker_id']}" for number, p in parts.items() if p["state"] == "RUNNING"}


def meet(source: Source, change: Change, moment: Moment, chance: random.Random) -> None:
    """A start of task 1 under way on a frozen worker meets the change."""
    group = source.group
    source.place()
    source.wait_progress()
    source.hold_start()
    held, rounds = source.held_partition, source.fencing_rounds()
    position = source.position(held)
    group.freeze(source.follower)
    try:
        source.apply(change)
        if moment is Moment.FENCED:
            wait_until(lambda: source.fencing_rounds() > rounds)
        if moment is Moment.PROGRESS:
            wait_until(partial(source.has_passed, held, position))
        if moment is not Moment.THAWED:
            time.sleep(chance.uniform(0, 0.3))
            source.continue_start()
            time.sleep(chance.uniform(0, 1.5))  # in which a start that nothing checks delivers records
    finally:
        group.thaw(source.follower)
    if moment is Moment.THAWED:
        time.sleep(chance.uniform(0, 0.2))
        source.continue_start()
    source.wait_progress()


def check_starts(group: WorkerGroup, folder: Path, seeds: Mapping[int, tuple[Change, Moment]]) -> None:
    source = Source(group, folder)
    source.create()
    for seed, (change, moment) in seeds.items():
        print(f"seed {seed}: {change.value}; the start continues {moment.value}", flush=True)
        meet(source, change, moment, random.Random(seed))
        assert source.faults() == (0, 0, 0), f"doubled, out of order, missing: seed {seed}, {change}, {moment}"


@pytest.mark.slow
def test_a_start_on_a_frozen_worker_does_not_run_with_old_task_configs(group: WorkerGroup, tmp_path: Path) -> None:
    check_starts(group, tmp_path, {1: (Change.SWAP, Moment.PROGRESS)})


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_twenty_starts_on_frozen_workers(group: WorkerGroup, tmp_path: Path) -> None:
    changes, moments = list(Change), list(Moment)
    check_starts(group, tmp_path, {seed: (changes[seed % 3], moments[seed // 3 % 3]) for seed in range(20)})

"""40 exactly-once sources and 8 sinks on a real standalone Spark cluster, while executors and slots are killed: each
line arrives exactly once in Kafka, and at least once in the files of the sinks.

python -m tests.soak.cluster_kills [--seconds 180] [--seed N]
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from confluent_kafka import KafkaException

from tests.soak.feeder import Feeder
from tests.support.broker import EmbeddedBroker, unique
from tests.support.connect import SINK, SOURCE, STRINGS, Connect
from tests.support.engine.spark_cluster import SparkCluster
from tests.support.kafka.committed import committed
from tests.support.waiting import wait_until
from tests.support.workers import our_worker

SOURCES, SINKS, SLOTS = 40, 8, 4
RECOVERY = 120.0  # seconds within which all tasks must be RUNNING again
MOST_LEASE = 20.0  # seconds until the loss of a slot is logged
PAUSE = 5.0  # seconds of calm between two kills
VICTIMS = ("executor", "slot")


@dataclass(slots=True)
class ClusterAccount:
    """The result of a run."""

    seconds: float = 0.0
    lines: int = 0
    missing: int = 0
    doubled: int = 0
    sinks_missing: int = 0
    sinks_doubled: int = 0
    recoveries: dict[str, list[float]] = field(default_factory=dict)  # seconds until all tasks were RUNNING again

    @property
    def kills(self) -> int:
        return sum(map(len, self.recoveries.values()))

    def summary(self) -> str:
        again = "; ".join(
            f"{victim}: {len(took)} kills, RUNNING again after {sorted(took)[len(took) // 2]:.1f} s (median), "
            f"{max(took):.1f} s (longest)"
            for victim, took in sorted(self.recoveries.items())
        )
        return (
            f"{SOURCES} sources, {SINKS} sinks, {SLOTS} slots on two executors, {self.seconds:.0f} s: "
            f"{self.lines:,} lines; sources: {self.missing:,} missing, {self.doubled:,} doubled; sinks: "
            f"{self.sinks_missing:,} missing, {self.sinks_doubled:,} doubled; {again}"
        )


def cluster_soak(folder: Path, seconds: float, seed: int) -> ClusterAccount:
    """Kill for this time, then compare all lines."""
    with EmbeddedBroker(folder / "broker").started() as broker, SparkCluster(folder / "spark").started() as cluster:
        return _soak(folder, broker, cluster, seconds, random.Random(seed))


def _soak(
    folder: Path, broker: EmbeddedBroker, cluster: SparkCluster, seconds: float, chance: random.Random
) -> ClusterAccount:
    overrides = {**cluster.properties, "headrace.slots": str(SLOTS), "exactly.once.source.support": "enabled"}
    worker = our_worker(folder, broker.bootstrap, overrides)
    worker.start(120)
    account = ClusterAccount()
    try:
        connect = Connect(worker)
        files = [folder / f"{number}.in" for number in range(SOURCES)]
        topics = [broker.create_topic(partitions=1) for _ in files]
        for file, topic in zip(files, topics, strict=True):
            file.touch()
            own = {"file": str(file), "topic": topic, "exactly.once.support": "required"}
            connect.create(unique("source"), {"connector.class": SOURCE, "tasks.max": "1", **STRINGS, **own})
        outs = [folder / f"{number}.out" for number in range(SINKS)]
        for number, out in enumerate(outs):
            own = {"file": str(out), "topics": ",".join(topics[number::SINKS])}
            connect.create(unique("sink"), {"connector.class": SINK, "tasks.max": "1", **STRINGS, **own})
        _wait_running(connect)
        feeder = Feeder(files, SOURCES * 20)
        feeder.start()
        started = time.monotonic()
        try:
            while time.monotonic() < started + seconds:
                time.sleep(PAUSE)
                victim = VICTIMS[account.kills % len(VICTIMS)]
                took = _killed(connect, cluster, victim, chance)
                if took is not None:
                    account.recoveries.setdefault(victim, []).append(took)
                    at = time.monotonic() - started
                    print(f"{at:5.0f} s: {victim} killed, RUNNING again after {took:.1f} s", flush=True)
        finally:
            feeder.stop()
        account.seconds = time.monotonic() - started
        _wait_running(connect)
        _count(account, broker, topics, outs, feeder.written)
    finally:
        worker.stop(60)
    return account


def _killed(connect: Connect, cluster: SparkCluster, victim: str, chance: random.Random) -> float | None:
    """Kill an executor or a slot's process. Returns the seconds until all tasks were RUNNING again; None if the process
    had no slot that the worker knew."""

    def processes() -> list[int]:
        with_slots = [pid for pid in cluster.executors() if cluster.slots(pid)]
        return with_slots if victim == "executor" else cluster.slots()

    candidates = wait_until(processes, RECOVERY, "the process of a slot")  # all may have been on one executor
    before = _losses(connect)
    killed = time.monotonic()
    os.kill(chance.choice(candidates), signal.SIGKILL)
    try:
        wait_until(lambda: _losses(connect) > before, MOST_LEASE, "the loss of a slot")
    except AssertionError:  # it was starting
        return None
    _wait_running(connect)
    return time.monotonic() - killed


def _losses(connect: Connect) -> int:
    """How many slots the worker has lost."""
    return connect.worker.log.read_text(errors="replace").count(" was lost with ")


def _wait_running(connect: Connect) -> None:
    wait_until(lambda: _all_running(connect), RECOVERY, "all RUNNING", every=0.2)


def _all_running(connect: Connect) -> bool:
    found = connect.ask("GET", "/connectors?expand=status")
    shown = [one["status"] for one in found.values() if "status" in one]  # a new connector has none
    states = [task["state"] for status in shown for task in (status["connector"], *status["tasks"])]
    return len(states) == 2 * (SOURCES + SINKS) and set(states) == {"RUNNING"}


def _count(account: ClusterAccount, broker: EmbeddedBroker, topics: list[str], outs: list[Path], lines: int) -> None:
    account.lines = lines * len(topics)
    last = f"{lines - 1:09d} ".encode()

    def read(topic: str) -> Counter[bytes] | None:
        """All lines of a topic; None before the last one."""
        try:
            found = Counter(message.value()[:10] for message in committed(broker, topic))
        except KafkaException:  # the machine is too busy
            return None
        return found if last in found else None

    for topic in topics:
        found = wait_until(partial(read, topic), RECOVERY, f"the last line in {topic}", every=1.0)
        assert found is not None
        account.missing += lines - len(found)
        account.doubled += found.total() - len(found)
    want = [len(topics[number :: len(outs)]) * lines for number in range(len(outs))]

    def written() -> list[Counter[bytes]]:
        return [Counter(line[:10] for line in out.read_bytes().split(b"\n")[:-1]) for out in outs]

    def short() -> int:
        """Each number is in as many topics as the sink has."""
        return sum(
            max(count // lines - found.get(b"%09d " % number, 0), 0)
            for found, count in zip(written(), want, strict=True)
            for number in range(lines)
        )

    try:
        wait_until(lambda: not short(), RECOVERY, "the last line of each sink", every=2.0)
    except AssertionError:
        account.sinks_missing = short()
    account.sinks_doubled = sum(found.total() for found in written()) - sum(want) + account.sinks_missing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    given = parser.parse_args()
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="headrace-cluster-") as folder:
        account = cluster_soak(Path(folder), given.seconds, given.seed)
    print(account.summary())
    return 1 if account.missing or account.doubled or account.sinks_missing else 0


if __name__ == "__main__":
    sys.exit(main())

"""A run: the brokers, the workers, their connectors, the faults, and the verdict."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from tests.soak.chaos.changes import Operator, create
from tests.soak.chaos.checker import SinkCheck, Verdict, check_positions, judge_source
from tests.soak.chaos.client import PATIENCE, PatientConnect
from tests.soak.chaos.connectors import Sink, Source, Target, file_source, numbered_source, sink
from tests.soak.chaos.faults import Chaos
from tests.soak.chaos.plan import FAULTS, rounds
from tests.soak.chaos.records import Reader
from tests.soak.feeder import Feeder
from tests.support.clusters.worker_group import WorkerGroup, worker_id
from tests.support.java.connectors import FILE, PREFER_FILE, plugin_path
from tests.support.kafka.broker_cluster import BrokerCluster
from tests.support.kafka.committed import committed
from tests.support.kafka.lost_markers import MarkersLost, lost_markers
from tests.support.plugins import PLUGINS
from tests.support.waiting import wait_until

_COMPACTED = {
    "cleanup_policy": "compact", "segment_ms": "500", "min_cleanable_dirty_ratio": "0.0",
    "delete_retention_ms": "0", "min_compaction_lag_ms": "0", "max_compaction_lag_ms": "500",
}  # fmt: skip
"""Of the config topic: tombstones vanish within seconds."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run consists of."""

    seed: int
    seconds: float = 60.0
    brokers: int = 3
    workers: int = 3
    faults: tuple[str, ...] = FAULTS
    exactly_once: bool = True
    changes: bool = True
    pause: float = 4.0  # mean seconds between two faults


@dataclass(slots=True)
class Account:
    """The result of a run."""

    plan: Plan
    folder: Path
    verdict: Verdict = field(default_factory=Verdict)
    seconds: float = 0.0
    caused: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    recoveries: list[float] = field(default_factory=list)  # seconds after each round until all was as requested
    faults: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)

    @property
    def sound(self) -> bool:
        return self.verdict.sound and not (self.faults or self.orphans)

    def summary(self) -> str:
        found, times = self.verdict, sorted(self.recoveries) or [0.0]
        return "\n".join([
            f"{self.plan.workers} workers, {self.plan.brokers} brokers, "
            f"{'exactly' if self.plan.exactly_once else 'at least'} once, {self.caused.total()} faults and "
            f"{self.changes.total()} changes of connectors in {self.seconds:.0f} s, seed {self.plan.seed}: "
            f"{found.records:,} records, {found.missing:,} missing, {found.doubled:,} doubled, "
            f"{found.disordered:,} out of order, {found.revived:,} revived, {found.owners:,} tasks with two owners, "
            f"{found.positions:,} wrong positions, {found.repeated:,} repeated at least once; sinks: "
            f"{found.sinks_missing:,} missing, {found.sinks_foreign:,} not committed, {found.sinks_repeated:,} "
            f"repeated; {len(self.faults)} times not as requested, {len(self.orphans)} orphans. All as requested "
            f"{times[len(times) // 2]:.1f} s (median) and {times[-1]:.1f} s (longest) after a round of faults.",
            "",
            "| fault or change | times |",
            "| --- | ---: |",
            *(f"| {kind} | {count} |" for kind, count in (*self.caused.most_common(), *self.changes.most_common())),
        ])  # fmt: skip


class Run:
    """All parts of a run; `close()` ends them."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.plan, self.account = plan, Account(plan, folder)
        self.cluster = BrokerCluster(folder / "brokers", plan.brokers)
        self.cluster.start()
        level = "enabled" if plan.exactly_once else "disabled"
        storage = {f"{kind}.storage.replication.factor": "-1" for kind in ("config", "offset", "status")}
        java = {"plugin.path": f"{PLUGINS},{plugin_path(FILE)}", **PREFER_FILE}
        own = {"headrace.slots": "1", "exactly.once.source.support": level}
        self.group = WorkerGroup(folder, self.cluster, {**own, **storage, **java})
        self.cluster.create_topic(self.group.properties["config.storage.topic"], 1, **_COMPACTED)
        chance = random.Random(plan.seed)
        self.connect = PatientConnect(self.group, random.Random(plan.seed), self.account.refusals)
        self.sources = list(self._sources(folder))
        self.sinks = list(self._sinks(folder))
        self.reader = Reader(self.cluster.bootstrap, {t: s.partitions for s in self.sources for t in s.topics})
        java_source = self.sources[-1]
        assert java_source.file is not None
        java_source.file.touch()
        line = f"{java_source.name} 0 0 0 {{}} 0 java 0\n"
        self.feeder = Feeder([java_source.file], 200, line.format)
        self.chaos = Chaos(self.group, self.cluster, self.connect, self.sources)
        self.operators = [
            Operator(
                PatientConnect(self.group, random.Random(chance.random()), self.account.refusals),
                self.targets[number::2],
                random.Random(chance.random()),
            )
            for number in range(2 if plan.changes else 0)
        ]

    @property
    def targets(self) -> list[Target]:
        return [*self.sources, *self.sinks]

    def _sources(self, folder: Path) -> Iterator[Source]:
        shapes = [("interval", 3, 2, True), ("poll", 2, 2, True), ("connector", 4, 3, False), ("interval", 2, 1, False)]
        for number, (boundary, partitions, tasks, slow) in enumerate(shapes):
            topics = tuple(self.cluster.create_topic(f"numbers-{number}-{turn}", partitions) for turn in range(2))
            name = f"numbers-{number}"
            yield numbered_source(name, topics, partitions, tasks, slow, boundary if self.plan.exactly_once else "")
        topic = self.cluster.create_topic("lines")
        yield file_source("lines", topic, folder / "lines.txt", self.plan.exactly_once)

    def _sinks(self, folder: Path) -> Iterator[Sink]:
        topics = [topic for source in self.sources[:-1] for topic in source.topics]
        for number in range(2):
            yield sink(f"records-{number}", tuple(topics[number::2]), folder / f"records-{number}.txt")
        yield sink("values", ("lines",), folder / "values.txt", 1, self.sources[-1])

    # The run

    def start(self) -> None:
        self.reader.start()
        self.group.start(*(self.group.ours() for _ in range(self.plan.workers)))
        for target in self.targets:
            create(self.connect, target)
        self.settle("the start")
        self.feeder.start()

    def fail(self) -> None:
        """Rounds of faults until the time is over; after each one everything has to be as requested, or the run ends
        with the evidence fresh."""
        started = time.monotonic()
        for operator in self.operators:
            operator.start()
        for number, faults in enumerate(rounds(self.plan.seed, self.plan.faults, self.plan.pause), 1):
            for fault in faults:
                self.chaos.wait(fault.after)
                print(f"{time.monotonic() - started:7.1f} {fault}", flush=True)
                self.chaos.cause(fault)
            self.calm(f"round {number}")
            self.account.seconds = time.monotonic() - started
            if self.account.seconds > self.plan.seconds or self.account.faults or self.chaos.faults:
                return

    def calm(self, after: str) -> None:
        """Repairs everything, pauses the operators, and waits until everything is as requested."""
        self.chaos.repair_all()
        for operator in self.operators:
            operator.pause()
        try:
            self.account.recoveries.append(self.settle(after))
            print(f"        {after} over after {self.account.recoveries[-1]:.1f} s", flush=True)
        finally:
            for operator in self.operators:
                operator.resume()

    def settle(self, after: str) -> float:
        """Waits until all connectors are as requested and the sources write; returns the seconds. MarkersLost if a
        broker has left a transaction open that nobody can end."""
        started = time.monotonic()
        try:
            wait_until(lambda: not self._differences(), PATIENCE, every=0.5)
            calm = time.monotonic()
            wait_until(lambda: not self._silent(calm), PATIENCE, every=0.5)
        except AssertionError:
            if lost := lost_markers(self.cluster.bootstrap):
                raise MarkersLost(lost) from None
            found = [*self._differences(), *(f"{at} has no new records" for at in self._silent(time.monotonic() - 10))]
            self.account.faults.append(f"{PATIENCE:.0f} s after {after}: {'; '.join(found)}")
            print(f"        {self.account.faults[-1]}", flush=True)
        return time.monotonic() - started

    def _silent(self, since: float) -> list[str]:
        """Partitions without records since then. Java's lines bear no time."""
        return [
            f"{source.name}-{partition}"
            for source in self.sources[:-1]
            for partition in range(source.partitions)
            if self.reader.records.latest(source.name, partition) < since
        ]

    def _differences(self) -> list[str]:
        """What is not as requested."""
        away = [f"{worker.url} does not run" for worker in self.group.workers if not worker.running()]
        return away + [difference for target in self.targets for difference in self._difference(target)]

    def _difference(self, target: Target) -> Iterator[str]:
        path = f"/connectors/{target.name}"
        status, shown = self.connect.request("GET", f"{path}/status")
        if status != 200:
            yield f"{path}/status: {status} {shown}"
            return
        parts = [shown["connector"], *shown["tasks"]]
        states = [(part["state"], part["worker_id"] in map(worker_id, self.group.living)) for part in parts]
        if states != [(target.state, True)] * (target.tasks + 1):
            yield f"{target.name}: {target.tasks} tasks requested, {_shown(parts)}"
        _, config = self.connect.request("GET", f"{path}/config")
        if config != {**target.config, "name": target.name}:
            yield f"{target.name}: {target.config} requested, but its configuration is {config}"
        _, tasks = self.connect.request("GET", f"{path}/tasks")
        for task in tasks if isinstance(tasks, list) else []:
            if task["config"].get("incarnation") != target.config.get("incarnation"):
                yield f"revived: {target.name} is {target.config}, but has the task {task}"

    # The end

    def finish(self) -> None:
        """Stops the sources, lets the sinks read everything, and judges."""
        for operator in self.operators:
            operator.stop()
            self.account.faults += operator.faults
            self.account.changes += operator.done
        self.settle("the last fault")
        self.feeder.stop()
        java_source = self.sources[-1]
        self._wait("the last line", lambda: self._lines(java_source) >= self.feeder.written)
        for source in self.sources:
            source.state = "STOPPED"
            self.connect.until("PUT", f"/connectors/{source.name}/stop")
        self._wait("sources STOPPED", lambda: all(self.connect.states(s.name)[0] == "STOPPED" for s in self.sources))
        self.reader.finish()
        self._judge()

    def _lines(self, source: Source) -> int:
        return max((run.last + 1 for run in list(self.reader.records.runs[source.name, 0])), default=0)

    def _wait(self, what: str, condition: Callable[[], bool]) -> None:
        try:
            wait_until(condition, PATIENCE, what, every=0.5)
        except AssertionError as failed:
            self.account.faults.append(str(failed))

    def _judge(self) -> None:
        verdict, records = self.account.verdict, self.reader.records
        verdict.records = records.count
        verdict.faults += self.reader.faults
        for source in self.sources:
            judge_source(verdict, source, records)
        if self.plan.exactly_once:
            self._judge_positions()
        checks: list[SinkCheck] = []

        def written() -> bool:
            checks[:] = [SinkCheck(sink, records) for sink in self.sinks]
            for check in checks:
                check.run()
            return not any(check.missing for check in checks)

        self._wait("all records in the files of the sinks", written)
        for check in checks:
            verdict.sinks_missing += check.missing
            verdict.sinks_repeated += check.repeated
            verdict.sinks_foreign += check.foreign
            verdict.faults += check.examples

    def _judge_positions(self) -> None:
        """Compares with the positions in the offset topic, which has not been compacted yet."""
        history: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for message in committed(self.cluster, self.group.properties["offset.storage.topic"]):
            name, partition = orjson.loads(message.key())
            if "partition" in partition and message.value():
                offset = orjson.loads(message.value())
                history.setdefault((name, partition["partition"]), []).append((offset["epoch"], offset["number"]))
        for source in self.sources[:-1]:
            for partition in range(source.partitions):
                positions = history.get((source.name, partition), [])
                check_positions(self.account.verdict, source, partition, positions, self.reader.records)

    def close(self) -> None:
        self.feeder.stop()
        self.reader.stop()
        for operator in self.operators:
            operator.stop()
        try:
            self.chaos.repair_all()
            self.account.caused, self.account.skipped = self.chaos.caused, self.chaos.skipped
            self.account.faults += self.chaos.faults
        finally:
            self.account.orphans = self.group.close()
            self.cluster.stop()


def _shown(parts: Sequence[dict[str, object]]) -> str:
    return ", ".join(f"{part.get('id', 'connector')} {part['state']} on {part['worker_id']}" for part in parts)


def chaos_soak(folder: Path, plan: Plan) -> Account:
    """Runs the plan, and returns the verdict."""
    run = Run(folder, plan)
    try:
        run.start()
        run.fail()
        run.finish()
    finally:
        run.close()
    return run.account

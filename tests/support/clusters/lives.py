"""Pipelines of `headrace_life_plugins`, and the proof from their traces: no task with two owners, no record lost."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.kafka.topics import contents
from tests.support.waiting import wait_until

HANDED_OVER = ("start", "alive", "end")
TAKEN_OVER = ("start", "alive")
"""Marks that belong to a life: the stop() of a task that has lost its lease may come late, and does no harm."""


@dataclass(slots=True)
class Life:
    """The marks of one task object; times are seconds of the machine's CLOCK_MONOTONIC."""

    task: str
    """`connector-task`."""
    id: str
    pid: int
    marks: list[tuple[str, float]] = field(default_factory=list)

    def start(self) -> float:
        return self.marks[0][1]

    def last(self, events: Sequence[str]) -> float:
        return max(at for event, at in self.marks if event in events)


def lives(lines: Iterable[str]) -> list[Life]:
    """The lives in a file of marks, in order of their starts."""
    found: dict[str, Life] = {}
    for line in lines:
        connector, task, life, pid, event, at = line.split()
        found.setdefault(life, Life(f"{connector}-{task}", life, int(pid))).marks.append((event, float(at)))
    return sorted(found.values(), key=Life.start)


def overlaps(all_lives: Iterable[Life], events: Sequence[str] = TAKEN_OVER) -> list[str]:
    """Descriptions of overlapping lives of the same task."""
    by_task: dict[str, list[Life]] = defaultdict(list)
    for life in all_lives:
        by_task[life.task].append(life)
    return [
        f"{task}: {after.id} of process {after.pid} started {until - after.start():.3f} s before the last mark of "
        f"{before.id} of process {before.pid}"
        for task, of_task in by_task.items()
        for number, after in enumerate(of_task)
        for before in of_task[:number]
        if (until := before.last(events)) >= after.start()
    ]


def alternations(ids: Iterable[str]) -> list[str]:
    """Ids of lives that continued to write after another life had started to write."""
    runs = [life for life, _ in groupby(ids)]
    return sorted({life for number, life in enumerate(runs) if life in runs[:number]})


def repeated(owner: str, records: Iterable[str]) -> list[str]:
    """Descriptions of the records that an owner has written more than once."""
    return [f"{owner}: record {record} {count} times" for record, count in Counter(records).items() if count > 1]


def late_records(values: Iterable[str], starts: Mapping[str, float]) -> list[str]:
    """Records in a topic that a life polled after a later life had started. Records that the Kafka client of a frozen
    process had queued before may arrive late: without transactions, they cannot be recalled."""
    found, newest = [], ""
    for value in values:
        life, number, polled = value.split()
        if starts[life] >= starts.get(newest, 0.0):
            newest = life
        elif float(polled) >= starts[newest]:
            found.append(f"record {number} was polled by {life} after its successor {newest} had started")
    return found


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A counting source, its topic, and a sink into a file."""

    source: str
    sink: str
    topic: str
    out: Path

    @property
    def names(self) -> tuple[str, str]:
        return self.source, self.sink


class Pipelines:
    """Pipelines that share a file of marks, and their checks at the end."""

    def __init__(self, folder: Path, broker: KafkaBroker, count: int, tasks: int = 1) -> None:
        """`tasks`: of each connector; a topic has a partition for each."""
        self._broker, self._tasks = broker, str(tasks)
        self._values: dict[str, list[str]] = {}
        folder.mkdir(parents=True, exist_ok=True)
        prefix = unique("life")
        self.marks, self._done = folder / f"{prefix}.marks", folder / f"{prefix}.done"
        self.all = [
            Pipeline(
                f"{prefix}-source-{number}",
                f"{prefix}-sink-{number}",
                broker.create_topic(f"{prefix}-{number}", partitions=tasks),
                folder / f"{prefix}-{number}.out",
            )
            for number in range(count)
        ]

    @property
    def names(self) -> list[str]:
        return [name for pipeline in self.all for name in pipeline.names]

    def source_config(self, pipeline: Pipeline, **more: str) -> dict[str, str]:
        return {
            "connector.class": "headrace_life_plugins.LifeSourceConnector",
            "tasks.max": self._tasks,
            "topic": pipeline.topic,
            "marks": str(self.marks),
            "done": str(self._done),
            **STRINGS,
            **more,
        }

    def sink_config(self, pipeline: Pipeline, **more: str) -> dict[str, str]:
        return {
            "connector.class": "headrace_life_plugins.LifeSinkConnector",
            "tasks.max": self._tasks,
            "topics": pipeline.topic,
            "file": str(pipeline.out),
            "marks": str(self.marks),
            "consumer.override.session.timeout.ms": "6000",
            **STRINGS,
            **more,
        }

    def create(self, connect: Connect) -> None:
        for pipeline in self.all:
            connect.create(pipeline.source, self.source_config(pipeline))
            connect.create(pipeline.sink, self.sink_config(pipeline))

    def delete(self, connect: Connect) -> None:
        for name in self.names:
            connect.ask("DELETE", f"/connectors/{name}")

    # Checks of the traces

    def lives(self) -> list[Life]:
        return lives(self.marks.read_text().splitlines())

    def finish(self, timeout: float = 60.0) -> int:
        """Ends the counting and waits until the sinks have written all records of the topics; returns the number of
        records."""
        self._done.touch()
        self._values = contents(self._broker.bootstrap, [pipeline.topic for pipeline in self.all])
        for pipeline in self.all:
            wait_until(
                partial(self._is_written, pipeline),
                timeout,
                f"{pipeline.sink} has written everything in {pipeline.topic}",
                every=0.5,
            )
        return sum(len(values) for values in self._values.values())

    def faults(self, events: Sequence[str] = TAKEN_OVER) -> list[str]:
        """Everything that contradicts one owner at a time and no record lost; call after `finish()`."""
        return [*overlaps(self.lives(), events), *self._write_faults()]

    def doubled(self) -> list[str]:
        """Records that a source has produced twice or a sink has written twice; call after `finish()`."""
        found = []
        for pipeline in self.all:
            for task, values in self._by_task(self._values[pipeline.topic]).items():
                found += repeated(task, (value.split()[1] for value in values))
            found += repeated(pipeline.sink, (line.partition(" ")[2] for line in self._lines(pipeline)))
        return found

    def _write_faults(self) -> Iterator[str]:
        starts = {life.id: life.start() for life in self.lives()}
        for pipeline in self.all:
            produced = self._by_task(self._values[pipeline.topic])
            for task, values in produced.items():
                yield from (f"{task}: {late}" for late in late_records(values, starts))
                numbers = {int(value.split()[1]) for value in values}
                if lost := set(range(max(numbers) + 1)) - numbers:
                    yield f"{task}: {len(lost)} records were not produced, the first is {min(lost)}"
            if len(produced) < int(self._tasks):
                yield f"{pipeline.source}: only {len(produced)} task(s) produced records"
            for task, lines in self._by_task(self._lines(pipeline)).items():
                for life in alternations(line.split()[0] for line in lines):
                    yield f"{task}: {life} continued to write after its successor"
            if lost_values := self._unwritten(pipeline):
                yield f"{pipeline.sink}: {len(lost_values)} records were not written, such as {min(lost_values)}"

    def _by_task(self, lines: Iterable[str]) -> dict[str, list[str]]:
        """Lines that begin with the id of a life, in their order, by the task of that life."""
        tasks, found = {life.id: life.task for life in self.lives()}, defaultdict[str, list[str]](list)
        for line in lines:
            found[tasks[line.split()[0]]].append(line)
        return found

    def _is_written(self, pipeline: Pipeline) -> bool:
        return not self._unwritten(pipeline)

    def _unwritten(self, pipeline: Pipeline) -> set[str]:
        return set(self._values[pipeline.topic]) - {line.partition(" ")[2] for line in self._lines(pipeline)}

    def _lines(self, pipeline: Pipeline) -> list[str]:
        return pipeline.out.read_text().splitlines() if pipeline.out.exists() else []

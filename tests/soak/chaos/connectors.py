"""The connectors of a run with their target states, and what the checker has to know about them."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.connect import STRINGS

NUMBERED = "headrace_numbered_plugins.NumberedSourceConnector"
SLOW = "headrace_numbered_plugins.SlowSourceConnector"
RECORDING = "headrace_numbered_plugins.RecordingSinkConnector"
FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


@dataclass(slots=True)
class Target:
    """A connector as it should be. Whoever changes it holds `lock`."""

    name: str
    config: dict[str, str]
    state: str = "RUNNING"
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def tasks(self) -> int:
        """The number of tasks that should run."""
        return int(self.config["tasks.max"])


@dataclass(slots=True)
class Source(Target):
    """A source whose records are numbered: partition, epoch, number."""

    partitions: int = 1
    topics: tuple[str, ...] = ()
    """The topics of its incarnations in turn."""

    exactly_once: bool = True
    starts: defaultdict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(lambda: [(0, 0)]))
    """For each partition, the epochs and the number that each one starts with, in order."""

    deleted: list[float] = field(default_factory=list)
    """When the deletion of each incarnation was acknowledged, on the monotonic clock."""

    file: Path | None = None
    """Of Java's file source, which has one partition and never changes its offset."""

    epoch: int = 0

    @property
    def incarnation(self) -> int:
        return len(self.deleted)

    @property
    def tasks(self) -> int:
        return min(int(self.config["tasks.max"]), self.partitions)

    def new_epoch(self, partitions: Mapping[int, int]) -> int:
        """Records from now on start with these numbers in these partitions."""
        self.epoch += 1
        for partition, number in partitions.items():
            self.starts[partition].append((self.epoch, number))
        return self.epoch

    def reset(self) -> None:
        """All partitions start again, with the configuration from now on."""
        self.config["epoch"] = str(self.new_epoch(dict.fromkeys(range(self.partitions), 0)))

    def successor(self) -> None:
        """The connector has been deleted; its successor writes to the next topic."""
        self.deleted.append(time.monotonic())
        topic = self.topics[self.incarnation % len(self.topics)]
        self.config |= {"incarnation": str(self.incarnation), "topic": topic}


@dataclass(slots=True)
class Sink(Target):
    """A sink that writes to a file."""

    file: Path = Path()
    topics: tuple[str, ...] = ()
    source: Source | None = None
    """Of Java's file sink, which writes values only: the source of its topic."""

    rereads: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    """For topic and partition: the size of the file when its offset was altered the last time, and that offset."""


def numbered_source(
    name: str, topics: tuple[str, ...], partitions: int, tasks: int, slow: bool = False, boundary: str = ""
) -> Source:
    """A source of numbered records; exactly once if it has a transaction boundary."""
    config = {
        "connector.class": SLOW if slow else NUMBERED, "tasks.max": str(tasks), "topic": topics[0], "incarnation": "0",
        "source.partitions": str(partitions), "turn": "0", "epoch": "0", **STRINGS, **_transactions(boundary),
    }  # fmt: skip
    return Source(name, config, partitions=partitions, topics=topics, exactly_once=bool(boundary))


def file_source(name: str, topic: str, file: Path, exactly_once: bool) -> Source:
    """Java's file source."""
    config = {"connector.class": FILE_SOURCE, "tasks.max": "1", "topic": topic, "file": str(file), **STRINGS}
    boundary = "interval" if exactly_once else ""
    return Source(name, config | _transactions(boundary), topics=(topic,), file=file, exactly_once=exactly_once)


def _transactions(boundary: str) -> dict[str, str]:
    if not boundary:
        return {}
    interval = {"transaction.boundary.interval.ms": "700"} if boundary == "interval" else {}
    return {"exactly.once.support": "required", "transaction.boundary": boundary, **interval}


def sink(name: str, topics: tuple[str, ...], file: Path, tasks: int = 2, source: Source | None = None) -> Sink:
    """A sink of committed records: ours, or Java's file sink of one source."""
    config = {
        "connector.class": FILE_SINK if source else RECORDING, "tasks.max": str(tasks), "topics": ",".join(topics),
        "file": str(file), "consumer.override.isolation.level": "read_committed",
        "consumer.override.session.timeout.ms": "6000", **STRINGS,
    }  # fmt: skip
    return Sink(name, config, file=file, topics=topics, source=source)

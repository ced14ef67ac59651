"""A source that counts in each of its partitions, and a transformation that delays the start of tasks."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime.api import (
    STRING_SCHEMA,
    ConfigDef,
    ConfigKey,
    ConfigType,
    RecordT,
    SourceConnector,
    SourceRecord,
    SourceTask,
    Transformation,
)

PARTITIONS = "partitions"


class Gate(Transformation):
    """While the file `closed` exists, configure() waits, as slow imports would; the file `waiting` shows that."""

    config_def = ConfigDef(
        ConfigKey("closed", ConfigType.STRING, doc="File that closes the gate."),
        ConfigKey("waiting", ConfigType.STRING, doc="File that configure() creates while it waits."),
    )

    def configure(self, config: Mapping[str, str]) -> None:
        while Path(config["closed"]).exists():
            Path(config["waiting"]).touch()
            time.sleep(0.005)

    def apply(self, record: RecordT) -> RecordT | None:
        return record


class CountingSourceTask(SourceTask):
    """Polls the next numbers of each partition every 10 ms."""

    def start(self, config: Mapping[str, str]) -> None:
        self._topic = config["topic"]
        self._next = {name: self._committed(name) for name in config[PARTITIONS].split()}

    def _committed(self, name: str) -> int:
        offset = self.context.offsets.offset({"name": name})
        return int(offset["next"]) if offset else 0

    def poll(self) -> Sequence[SourceRecord] | None:
        time.sleep(0.01)
        return [self._record(name) for name in self._next for _ in range(5)]

    def _record(self, name: str) -> SourceRecord:
        number = self._next[name]
        self._next[name] = number + 1
        return SourceRecord({"name": name}, {"next": number + 1}, self._topic, f"{name} {number}", STRING_SCHEMA)


class CountingSourceConnector(SourceConnector):
    """Distributes the partitions `a` and `b`; with `shift=1` each of two tasks gets the other one's partition."""

    config_def = ConfigDef(
        ConfigKey("topic", ConfigType.STRING, doc="Topic for the numbers."),
        ConfigKey("shift", ConfigType.INT, 0, doc="Number of tasks by which partitions are shifted."),
    )
    task_class = CountingSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        names: list[list[str]] = [[] for _ in range(max_tasks)]
        for number, name in enumerate("ab"):
            names[(number + int(self.config.get("shift", "0"))) % max_tasks].append(name)
        return [{**self.config, PARTITIONS: " ".join(of_task)} for of_task in names]

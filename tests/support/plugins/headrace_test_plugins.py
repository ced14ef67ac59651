"""Connectors for tests: some misbehave, others do not support offsets; found through `plugin.path`."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime.api import (
    STRING_SCHEMA,
    ConfigDef,
    ConfigKey,
    ConfigType,
    ConnectError,
    SinkConnector,
    SinkRecord,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
    TopicPartition,
    UnsupportedOffsetsError,
)


class CountingTask(SourceTask):
    """Counts, with a record every few milliseconds; fails at `fail.at`, and in stop() if `fail.in.stop` is true."""

    def start(self, config: Mapping[str, str]) -> None:
        self._topic, self._fail_at = config["topic"], int(config.get("fail.at", "-1"))
        offset = self.context.offsets.offset({"counter": self._topic})
        self._next = int(offset["n"]) if offset else 0

    def poll(self) -> Sequence[SourceRecord]:
        if self._next == self._fail_at:
            raise RuntimeError(f"failed at {self._next} as configured")
        time.sleep(0.01)
        self._next += 1
        partition, offset = {"counter": self._topic}, {"n": self._next}
        return [SourceRecord(partition, offset, self._topic, str(self._next - 1), STRING_SCHEMA)]


class CountingConnector(SourceConnector):
    """Does not override alter_offsets: altering its offsets is a possible success only (KIP-875)."""

    config_def = ConfigDef(ConfigKey("topic", ConfigType.STRING, doc="Where the numbers go."))
    task_class = CountingTask


class BlockingTask(CountingTask):
    """A source whose poll does not return until the file `gate` exists."""

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self._gate = Path(config["gate"])

    def poll(self) -> Sequence[SourceRecord]:
        while not self._gate.exists():
            time.sleep(0.05)
        return super().poll()


class BlockingConnector(CountingConnector):
    """A source for tests of the watchdog."""

    config_def = ConfigDef(*CountingConnector.config_def, ConfigKey("gate", ConfigType.STRING, doc="A file."))
    task_class = BlockingTask


class FixedOffsetsConnector(CountingConnector):
    """A source that refuses every change of its offsets."""

    def alter_offsets(self, config: Mapping[str, str], offsets: Any) -> bool:
        raise UnsupportedOffsetsError("these offsets cannot be altered")


class PickyOffsetsConnector(CountingConnector):
    """A source that accepts even offsets only."""

    def alter_offsets(self, config: Mapping[str, str], offsets: Any) -> bool:
        if any(o is not None and o["n"] % 2 for _, o in offsets):
            raise ConnectError("only even numbers are accepted")
        return True


class HangingOffsetsConnector(CountingConnector):
    """A source whose first alter_offsets() creates the file `asked` and does not return."""

    config_def = ConfigDef(*CountingConnector.config_def, ConfigKey("asked", ConfigType.STRING, doc="A file."))

    def alter_offsets(self, config: Mapping[str, str], offsets: Any) -> bool:
        if not Path(config["asked"]).exists():
            Path(config["asked"]).touch()
            time.sleep(600)
        return True


class BrokenStartConnector(CountingConnector):
    """A connector that raises in start()."""

    def start(self, config: Mapping[str, str]) -> None:
        raise RuntimeError("start() fails as configured")


class GatedSinkTask(SinkTask):
    """A sink whose put does not return until the file `gate` exists."""

    def start(self, config: Mapping[str, str]) -> None:
        self._gate = Path(config["gate"])

    def put(self, records: Sequence[SinkRecord]) -> None:
        while not self._gate.exists():
            time.sleep(0.05)


class GatedSinkConnector(SinkConnector):
    """A sink for tests of STALLED."""

    config_def = ConfigDef(ConfigKey("gate", ConfigType.STRING, doc="A file."))
    task_class = GatedSinkTask


def _note(config: Mapping[str, str], what: object) -> None:
    with Path(config["calls"]).open("a") as file:
        file.write(json.dumps(what) + "\n")


class RecordingSourceConnector(CountingConnector):
    """Writes the arguments of its hook and of start() into the file `calls`."""

    config_def = ConfigDef(*CountingConnector.config_def, ConfigKey("calls", ConfigType.STRING, doc="A file."))

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        _note(config, "start")

    def alter_offsets(self, config: Mapping[str, str], offsets: Any) -> bool:
        _note(config, list(offsets))
        return True


class RecordingSinkConnector(GatedSinkConnector):
    """Writes the arguments of its hook and of start() into the file `calls`; refuses offsets beyond 100."""

    config_def = ConfigDef(*GatedSinkConnector.config_def, ConfigKey("calls", ConfigType.STRING, doc="A file."))

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        _note(config, "start")

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        if any(offset is not None and offset > 100 for offset in offsets.values()):
            raise ConnectError("no more than 100")
        _note(config, [[at.topic, at.partition, offset] for at, offset in offsets.items()])
        return True

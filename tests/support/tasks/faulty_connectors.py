"""A source and a sink that conform, and subclasses with one fault each, for tests of the conformance suite."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from runtime.api import (
    INT64_SCHEMA,
    STRING_SCHEMA,
    ConfigDef,
    ConfigKey,
    ConfigType,
    ConfigValue,
    ConnectError,
    DataError,
    SinkConnector,
    SinkRecord,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
    TopicPartition,
    validators,
)

_PARTITION = {"numbers": "all"}


class NumbersTask(SourceTask):
    """Produces 0, 1, 2 and so on; the offset is the next number."""

    step = 10

    def start(self, config: Mapping[str, str]) -> None:
        self.topic = config["topic"]
        offset = self.context.offsets.offset(_PARTITION)
        self.next = 0 if offset is None else int(offset["n"])

    def poll(self) -> Sequence[SourceRecord] | None:
        numbers = range(self.next, self.next + self.step)
        self.next = numbers.stop
        return [self.record(n) for n in numbers]

    def record(self, n: int) -> SourceRecord:
        return SourceRecord(_PARTITION, {"n": n + 1}, self.topic, n, INT64_SCHEMA)


class NumbersConnector(SourceConnector):
    task_class = NumbersTask
    config_def = ConfigDef(
        ConfigKey("topic", ConfigType.STRING, doc="Topic."),
        ConfigKey("limit", ConfigType.INT, 5, doc="Limit.", validator=validators.at_least(1)),
    )

    def alter_offsets(self, config: Mapping[str, str], offsets: Any) -> bool:
        if any(offset is not None and not isinstance(offset.get("n"), int) for _, offset in offsets):
            raise ConnectError("An offset needs the key 'n'")
        return True


class Undocumented(NumbersConnector):
    config_def = ConfigDef(ConfigKey("topic", ConfigType.STRING))


class InvalidDefault(NumbersConnector):
    config_def = ConfigDef(
        ConfigKey("topic", ConfigType.STRING, doc="Topic."),
        ConfigKey("limit", ConfigType.INT, 0, doc="Limit.", validator=validators.at_least(1)),
    )


def _longer_than_one(name: str, value: Any) -> None:
    if len(value) < 1:
        raise ConnectError(name)


class FailingValidator(NumbersConnector):
    config_def = ConfigDef(ConfigKey("topic", ConfigType.STRING, doc="Topic.", validator=_longer_than_one))


class SilentValidation(NumbersConnector):
    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return []


class RaisingValidation(NumbersConnector):
    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return [ConfigValue("topic", config["topic"])]


class TooManyTasks(NumbersConnector):
    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self.config] * (max_tasks + 1)


class UntypedTaskConfig(NumbersConnector):
    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [{**self.config, "number": 1}]  # type: ignore[dict-item]  # the fault


class CredulousAltering(NumbersConnector):
    def alter_offsets(self, *_: object) -> bool:
        return True


class CrashingAltering(NumbersConnector):
    def alter_offsets(self, config: Mapping[str, str], offsets: Any) -> bool:
        return all(offset is None or int(offset["n"]) >= 0 for _, offset in offsets)


class _NeedsStartTask(NumbersTask):
    def stop(self) -> None:
        del self.next


class NeedsStart(NumbersConnector):
    task_class = _NeedsStartTask


class _SlowStopTask(NumbersTask):
    def stop(self) -> None:
        time.sleep(1.2)


class SlowStop(NumbersConnector):
    task_class = _SlowStopTask


class _ThreadTask(NumbersTask):
    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        threading.Thread(target=time.sleep, args=[5], daemon=True).start()


class LeavesThread(NumbersConnector):
    task_class = _ThreadTask


class _FileTask(NumbersTask):
    _open: list[Any] = []  # noqa: RUF012 - the fault: files stay open

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self._open.append(Path("/dev/null").open())  # noqa: SIM115 - the fault


class LeavesFile(NumbersConnector):
    task_class = _FileTask


class _ForgetfulTask(NumbersTask):
    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self.next = 0


class IgnoresOffsets(NumbersConnector):
    task_class = _ForgetfulTask


class _OffsetAheadTask(NumbersTask):
    step = 200

    def record(self, n: int) -> SourceRecord:
        return SourceRecord(_PARTITION, {"n": self.next}, self.topic, n, INT64_SCHEMA)


class OffsetAhead(NumbersConnector):
    """Each record bears the offset of the end of its batch."""

    task_class = _OffsetAheadTask


class _SkippingTask(NumbersTask):
    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self.next += self.next > 0


class SkipsOne(NumbersConnector):
    task_class = _SkippingTask


class _WrongSchemaTask(NumbersTask):
    def record(self, n: int) -> SourceRecord:
        return SourceRecord(_PARTITION, {"n": n + 1}, self.topic, n, STRING_SCHEMA)


class WrongSchema(NumbersConnector):
    task_class = _WrongSchemaTask


class _NestedOffsetTask(NumbersTask):
    def record(self, n: int) -> SourceRecord:
        return SourceRecord(_PARTITION, {"n": [n]}, self.topic, n, INT64_SCHEMA)


class NestedOffset(NumbersConnector):
    task_class = _NestedOffsetTask


class LinesTask(SinkTask):
    """Appends a line for each record and syncs them in flush()."""

    def start(self, config: Mapping[str, str]) -> None:
        self.file = Path(config["file"]).open("a")  # noqa: SIM115 - open until stop()

    def put(self, records: Sequence[SinkRecord]) -> None:
        for record in records:
            if self.check(record):
                self.file.write(f"{record.value}\n")
        self.file.flush()

    def check(self, record: SinkRecord) -> bool:
        if isinstance(record.value, int):
            return True
        error = DataError("Only numbers can be written")
        if self.context.errant_record_reporter is None:
            raise error
        self.context.errant_record_reporter.report(record, error)
        return False

    def stop(self) -> None:
        if hasattr(self, "file"):
            self.file.close()


class LinesConnector(SinkConnector):
    task_class: ClassVar[type[SinkTask]] = LinesTask
    config_def = ConfigDef(ConfigKey("file", ConfigType.STRING, doc="File."))


class _BufferingTask(LinesTask):
    """Writes in stop() only, but lets the worker commit."""

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self.buffer: list[SinkRecord] = []

    def put(self, records: Sequence[SinkRecord]) -> None:
        self.buffer += records

    def stop(self) -> None:
        super().put(getattr(self, "buffer", ()))
        super().stop()


class WritesTooLate(LinesConnector):
    task_class = _BufferingTask


class _LosingTask(_BufferingTask):
    def stop(self) -> None:
        LinesTask.stop(self)


class LosesRecords(LinesConnector):
    task_class = _LosingTask


class _AssumingTask(LinesTask):
    def check(self, record: SinkRecord) -> bool:
        return bool(record.value + 1)


class AssumesNumbers(LinesConnector):
    task_class = _AssumingTask


class _BlamingTask(LinesTask):
    def put(self, records: Sequence[SinkRecord]) -> None:
        if all(isinstance(record.value, int) for record in records):
            super().put(records)
        else:
            for record in records:
                reporter = self.context.errant_record_reporter
                assert reporter is not None
                reporter.report(record, DataError("The batch failed"))


class BlamesAll(LinesConnector):
    task_class = _BlamingTask


class _EagerTask(LinesTask):
    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        return {tp: offset + 1 for tp, offset in offsets.items()}


class CommitsTooMuch(LinesConnector):
    task_class = _EagerTask


class _FragileTask(LinesTask):
    def put(self, records: Sequence[SinkRecord]) -> None:
        super().put([records[0], *records[1:]])


class NeedsRecords(LinesConnector):
    task_class = _FragileTask

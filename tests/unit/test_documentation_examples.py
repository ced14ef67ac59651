"""Examples from Connect's documentation: its configurations unchanged, and the developer guide's classes in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from runtime.api.config.definition import REQUIRED, ConfigDef, ConfigKey, ConfigType, Importance
from runtime.api.connector import SourceConnector
from runtime.api.data.record import SinkRecord, SourceRecord
from runtime.api.data.schema import STRING_SCHEMA
from runtime.api.errors import ConnectError
from runtime.api.task import ErrantRecordReporter, SinkTask, SinkTaskContext, SourceTask, SourceTaskContext
from runtime.config.properties import parse
from runtime.connectors.file_source import FileStreamSourceConnector
from runtime.model.task_spec import ConverterSpec, TaskSpec
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.load import load_steps
from runtime.pipeline.sink.dead_letters import dead_letter_topic
from runtime.pipeline.task.control import TaskControl
from runtime.pipeline.tolerance import Policy, Tolerance

# Transformations

FILE_SOURCE = """\
name=local-file-source
connector.class=FileStreamSource
tasks.max=1
file=test.txt
topic=connect-test
transforms=MakeMap, InsertSource
transforms.MakeMap.type=org.apache.kafka.connect.transforms.HoistField$Value
transforms.MakeMap.field=line
transforms.InsertSource.type=org.apache.kafka.connect.transforms.InsertField$Value
transforms.InsertSource.static.field=data_source
transforms.InsertSource.static.value=test-file-source
"""
FILTER = """\
transforms=Filter
transforms.Filter.type=org.apache.kafka.connect.transforms.Filter
transforms.Filter.predicate=IsFoo

predicates=IsFoo
predicates.IsFoo.type=org.apache.kafka.connect.transforms.predicates.TopicNameMatches
predicates.IsFoo.pattern=foo
"""
FILTER_AND_EXTRACT = """\
transforms=Filter,Extract
transforms.Filter.type=org.apache.kafka.connect.transforms.Filter
transforms.Filter.predicate=IsFoo

transforms.Extract.type=org.apache.kafka.connect.transforms.ExtractField$Key
transforms.Extract.field=other_field
transforms.Extract.predicate=IsBar
transforms.Extract.negate=true

predicates=IsFoo,IsBar
predicates.IsFoo.type=org.apache.kafka.connect.transforms.predicates.TopicNameMatches
predicates.IsFoo.pattern=foo

predicates.IsBar.type=org.apache.kafka.connect.transforms.predicates.TopicNameMatches
predicates.IsBar.pattern=bar
"""


def _through(properties: str, records: list[Any]) -> list[Any]:
    string = ConverterSpec("org.apache.kafka.connect.storage.StringConverter")
    spec = TaskSpec("c", 0, 1, "source", "m:T", parse(properties), string, string, string)
    tolerance = Tolerance(Policy.of(spec.settings), "c-0", TaskControl(False, lambda: None))
    return list(Chain(load_steps(spec), tolerance, lambda record: (record, "")).run(records).records)


def test_the_file_source_with_maps() -> None:
    lines = [SourceRecord({}, {}, "connect-test", line, STRING_SCHEMA) for line in ("foo", "bar", "hello world")]
    assert [record.value for record in _through(FILE_SOURCE, lines)] == [
        {"line": "foo", "data_source": "test-file-source"},
        {"line": "bar", "data_source": "test-file-source"},
        {"line": "hello world", "data_source": "test-file-source"},
    ]


@pytest.mark.parametrize(
    ("properties", "keys"),
    [(FILTER, [{"other_field": 1}, {"other_field": 2}]), (FILTER_AND_EXTRACT, [{"other_field": 1}, 2])],
)
def test_foo_is_filtered_out_and_bar_is_not(properties: str, keys: list[Any]) -> None:
    topics = ("foo", "bar", "baz")
    records = [SourceRecord({}, {}, topic, "v", key={"other_field": n}) for n, topic in enumerate(topics)]
    assert [record.key for record in _through(properties, records)] == keys


# Error reporting

FAIL_FAST = """\
# disable retries on failure
errors.retry.timeout=0

# do not log the error and their contexts
errors.log.enable=false

# do not record errors in a dead letter queue topic
errors.deadletterqueue.topic.name=

# Fail on first error
errors.tolerance=none
"""
TOLERANT = """\
# retry for at most 10 minutes times waiting up to 30 seconds between consecutive failures
errors.retry.timeout=600000
errors.retry.delay.max.ms=30000

# log error context along with application logs, but do not include configs and messages
errors.log.enable=true
errors.log.include.messages=false

# produce error context into the Kafka topic
errors.deadletterqueue.topic.name=my-connector-errors

# Tolerate all errors.
errors.tolerance=all
"""


def test_error_handling() -> None:
    assert Policy.of(parse(FAIL_FAST)) == Policy.of({}) == Policy()
    assert dead_letter_topic(parse(FAIL_FAST)) == ""
    wanted = Policy(tolerate_all=True, log=True, log_messages=False, retry_timeout=600.0, retry_delay=30.0)
    assert Policy.of(parse(TOLERANT)) == wanted
    assert dead_letter_topic(parse(TOLERANT)) == "my-connector-errors"


# Developer guide


@dataclass
class Reporter:
    """An ErrantRecordReporter that records its calls."""

    reported: list[tuple[Any, str]] = field(default_factory=list)

    def report(self, record: SinkRecord, error: Exception) -> Any:
        self.reported.append((record.value, str(error)))


class ReportingTask(SinkTask):
    """A sink that reports records that it cannot process, if there is a reporter."""

    def start(self, config: Mapping[str, str]) -> None:
        self.processed: list[Any] = []
        self._reporter: ErrantRecordReporter | None = self.context.errant_record_reporter

    def put(self, records: Sequence[SinkRecord]) -> None:
        for record in records:
            try:
                self._process(record)
            except Exception as error:
                if self._reporter is None:
                    raise ConnectError("Failed on record") from error
                self._reporter.report(record, error)

    def _process(self, record: SinkRecord) -> None:
        self.processed.append(10 // record.value)


def _reporting(reporter: Reporter | None) -> ReportingTask:
    task = ReportingTask()
    task.context = cast(SinkTaskContext, SimpleNamespace(errant_record_reporter=reporter))
    task.start({})
    return task


def test_a_sink_with_and_without_an_errant_record_reporter() -> None:
    records = [SinkRecord("t", 0, None, None, None, value, n) for n, value in enumerate((5, 0, 2))]
    reporter = Reporter()
    task = _reporting(reporter)
    task.put(records)
    assert (task.processed, reporter.reported) == ([2, 5], [(0, "integer division or modulo by zero")])
    with pytest.raises(ConnectError, match="Failed on record") as failed:
        _reporting(None).put(records)
    assert isinstance(failed.value.__cause__, ZeroDivisionError)


class LineTask(SourceTask):
    """The guide's source task: lines with their position, resumed from the committed position."""

    def start(self, config: Mapping[str, str]) -> None:
        self._filename, self._topic = config["file"], config["topic"]
        self._stream = Path(self._filename).open("rb")  # noqa: SIM115 - closed by stop()
        offset = self.context.offsets.offset({"filename": self._filename})
        if offset is not None and offset.get("position") is not None:
            self._stream.seek(offset["position"])

    def poll(self) -> Sequence[SourceRecord] | None:
        line = self._stream.readline()
        if not line:
            return None
        partition, offset = {"filename": self._filename}, {"position": self._stream.tell()}
        return [SourceRecord(partition, offset, self._topic, line.decode().rstrip("\n"), STRING_SCHEMA)]

    def stop(self) -> None:
        self._stream.close()


class LineConnector(SourceConnector):
    """The guide's connector: one task with the connector's own configuration."""

    task_class = LineTask
    config_def = ConfigDef(
        ConfigKey("file", ConfigType.STRING, None, Importance.HIGH, "Source filename."),
        ConfigKey("topic", ConfigType.STRING, REQUIRED, Importance.HIGH, "Where to."),
    )


def _lines(file: Path, position: int | None) -> list[tuple[Any, Any]]:
    connector = LineConnector()
    connector.start({"file": str(file), "topic": "t"})
    (config,) = connector.task_configs(5)
    task = connector.task_class()
    assert isinstance(task, LineTask)
    committed = None if position is None else {"position": position}
    offsets = SimpleNamespace(offset=lambda partition: committed if partition == {"filename": str(file)} else None)
    task.context = cast(SourceTaskContext, SimpleNamespace(offsets=offsets))
    task.start(config)
    found = []
    while records := task.poll():
        found += [(record.value, record.source_offset) for record in records]
    task.stop()
    return found


def test_a_connector_of_the_guide_resumes_from_its_offset(tmp_path: Path) -> None:
    file = tmp_path / "in.txt"
    file.write_text("one\ntwo\nthree\n")
    everything = [("one", {"position": 4}), ("two", {"position": 8}), ("three", {"position": 14})]
    assert _lines(file, None) == everything
    assert _lines(file, 4) == everything[1:]


def test_the_definition_of_the_file_source() -> None:
    keys = {key.name: key for key in FileStreamSourceConnector.config_def}
    assert list(keys) == ["file", "topic", "batch.size"]
    assert keys["topic"].required
    assert (keys["file"].default, keys["batch.size"].type, keys["batch.size"].importance) == (
        None,
        ConfigType.INT,
        "LOW",
    )
    errors = {value.name: value.errors for value in FileStreamSourceConnector().validate({"topic": ""})}
    assert errors["topic"] == ["Invalid value  for configuration topic: String must be non-empty"]

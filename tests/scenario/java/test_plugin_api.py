"""What Java plugins may ask of a worker: contexts, metrics, reports, class loading, headers in converters."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from runtime.api.data.columns import ValueBatch
from runtime.api.data.record import SinkRecord, SourceRecord, TopicPartition
from runtime.api.data.schema import OPTIONAL_STRING_SCHEMA, STRING_SCHEMA
from runtime.api.errors import ConnectError, DataError, IllegalArgumentError, RetriableError
from runtime.api.task import OffsetAndMetadata
from runtime.java.host.class_names import ClassNames
from runtime.java.host.host import JavaClass
from runtime.java.plugins.connector import JavaSourceConnector
from runtime.java.plugins.converters import JavaConverter
from runtime.java.plugins.sink_task import JavaSinkTask
from runtime.java.plugins.source_task import JavaSourceTask
from runtime.java.plugins.steps import JavaPredicate, JavaTransformation
from runtime.pipeline.chain.chain import Chain
from runtime.pipeline.chain.step import ChainStep
from runtime.pipeline.sink.convert_sink import sink_place
from runtime.pipeline.task.control import TaskControl
from runtime.pipeline.task.failure import Failure
from runtime.pipeline.tolerance import Policy, Tolerance
from runtime.transforms.bundled import TRANSFORMATIONS
from tests.support.java.host import own_host, probe, probes, settings, shared_host
from tests.support.tasks.task_contexts import StoredOffsets, TaskSourceContext
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

_TP = TopicPartition("t", 0)


class _SinkContext:
    """Records what is reported."""

    assignment = frozenset({_TP})

    def __init__(self) -> None:
        self.configs = {"name": "c"}
        self.reports: list[Any] = []
        self.errant_record_reporter: Any = self

    def report(self, record: SinkRecord, error: Exception) -> Any:
        self.reports.append((record.value, str(error)))
        return self


def _record(value: str, offset: int = 5) -> SinkRecord:
    return SinkRecord("t", 0, None, None, STRING_SCHEMA, value, offset, 1000)


@pytest.fixture
def sink() -> Iterator[JavaSinkTask]:
    task = JavaSinkTask(shared_host(), probe("ApiSink"))
    task.context = _SinkContext()  # type: ignore[assignment] # as much as the probe needs
    task.start({"name": "c"})
    task.open([_TP])
    yield task
    task.stop()


def _asked(task: JavaSinkTask, order: str) -> str:
    with pytest.raises(ConnectError) as raised:
        task.put([_record(order)])
    return str(raised.value)


def test_a_sink_task_sees_its_context(sink: JavaSinkTask) -> None:
    assert _asked(sink, "facts") == "{name=c} [t-0]"
    assert "not assigned to this task" in _asked(sink, "pause")


def test_a_plugin_may_log_on_an_interrupted_thread(sink: JavaSinkTask, caplog: pytest.LogCaptureFixture) -> None:
    """Channels are closed when a thread that uses them is interrupted, and the end of the control link ends the JVM."""
    sink.put([_record("interrupt")])
    wait_until(lambda: "logged by an interrupted thread" in caplog.messages, 10)
    assert "t-0" in _asked(sink, "facts")


def test_records_that_a_task_has_created_are_reported_by_their_position(sink: JavaSinkTask) -> None:
    context: Any = sink.context
    sink.put([_record("first", 4), _record("report created", 5), _record("report derived", 6)])
    assert context.reports == [("report created", "created"), ("report derived", "derived")]
    sink.pre_commit({_TP: 7})
    sink.put([_record("later", 7)])
    with pytest.raises(ConnectError, match="cannot be reported any more"):
        sink._context_call("report", [["t", 0, 5], None, ["E", "m", "t", ["E"]]])


def test_records_of_a_put_that_is_dropped_are_not_kept_for_reports(sink: JavaSinkTask) -> None:
    sink.prepare_put([_record("first", 4)])
    assert not sink._put._batches
    sink.begin_put(sink.prepare_put([_record("report created", 5)]))
    sink.end_put()
    assert len(sink._put._batches) == 1


def test_records_that_a_task_does_not_hold_are_not_kept_for_reports(sink: JavaSinkTask) -> None:
    """Some tasks store their offsets in the target system, and preCommit() returns none."""
    context: Any = sink.context
    sink.put([_record("mark none", 0), _record("hold", 1), _record("other", 2)])
    for offset in range(3, 103):
        sink.put([_record("other", offset)])
    assert sink.pre_commit({_TP: 103}) == {}

    def kept() -> int:  # the JVM enqueues references on a thread of its own
        sink.put([_record("collect", 103)])
        return len(sink._put._batches)

    wait_until(lambda: kept() < 50, 10)
    sink.put([_record("report held", 104)])
    assert context.reports == [("hold", "held")]


def test_offsets_of_a_sink_task_keep_their_metadata(sink: JavaSinkTask) -> None:
    sink.put([_record("first", 4), _record("mark second", 5)])
    (offset,) = sink.pre_commit({_TP: 6}).values()
    assert isinstance(offset, OffsetAndMetadata)
    assert (offset, offset.metadata) == (6, "second")


def test_metrics_of_a_sink_task(sink: JavaSinkTask) -> None:
    sink.put([_record("12345"), _record("678")])
    wait_until(lambda: [m.value for m in sink.plugin.metrics] == [8.0], 10)
    (metric,) = sink.plugin.metrics
    assert (metric.name, metric.description, dict(metric.tags)) == ("size-total", "Sum", {"connector": "", "task": ""})
    with pytest.raises(IllegalArgumentError):
        sink.put([_record("twice")])  # tags of the worker cannot be replaced
    sink.put([_record("remove")])
    wait_until(lambda: not sink.plugin.metrics, 10)


def test_a_source_task_sees_its_context_and_offsets() -> None:
    stored, task = StoredOffsets(), JavaSourceTask(shared_host(), probe("ApiSource"))
    task.context = TaskSourceContext(stored)
    task.start({"x": "y"})
    stored.commit([SourceRecord({"p": "a"}, {"n": 1}, "t", None)])
    (record,) = task.poll() or []
    assert record.value == "{x=y} {n=1} null 2 null"
    wait_until(lambda: [m.value for m in task.plugin.metrics] == [42.0], 10)
    task.stop()


def test_the_next_poll_of_a_source_is_under_way_while_records_are_sent() -> None:
    """Unless the task observes commits; other calls may come between."""
    task = JavaSourceTask(shared_host(), probe("ApiSource"))
    task.context = TaskSourceContext()
    task.start({})
    assert len(task.poll() or []) == 1
    assert task.plugin.link.posted
    task.commit()
    assert task.plugin.version == "1"
    assert len(task.poll() or []) == 1
    task.stop()
    observer = JavaSourceTask(shared_host(), probe("QuietSource"))
    observer.context = TaskSourceContext()
    observer.start({})
    observer.poll()
    assert (observer.plugin.reports, observer.plugin.commits) == (False, True)
    assert not observer.plugin.link.posted
    observer.stop()


def test_a_connector_uses_its_context_in_start() -> None:
    class Context:
        def __init__(self) -> None:
            self.offsets = StoredOffsets()
            self.calls: list[Any] = []

        def request_task_reconfiguration(self) -> None:
            self.calls.append("reconfigure")

        def raise_error(self, error: Exception) -> None:
            self.calls.append((type(error).java_name, str(error)))  # type: ignore[attr-defined] # of Java

    connector: Any = JavaSourceConnector(shared_host(), probe("ApiConnector"))
    connector.context = context = Context()
    context.offsets.commit([SourceRecord({"p": "a"}, {"n": 1}, "t", None)])
    connector.start({})
    wait_until(lambda: len(context.calls) == 2, 10)
    assert sorted(map(str, context.calls)) == ["('java.lang.IllegalStateException', 'raised')", "reconfigure"]
    wait_until(lambda: connector.metrics_owner.metrics, 10)
    (metric,) = connector.metrics_owner.metrics
    assert (metric.name, metric.value, dict(metric.tags)) == ("started", 1.5, {"connector": "", "offset": "{n=1}"})
    connector.stop()


_OWN = "org.apache.kafka.connect.own.Own"
"""A class of a plugin in a package of Kafka's."""


def test_plugins_load_classes_of_other_locations_by_name_and_alias() -> None:
    """Through the context class loader, as with Connect's delegating class loader."""
    folder = str(probes())
    sink_class = probe("ApiSink")
    alone = JavaClass(sink_class.name, "/nowhere/sink", sink_class.jars)  # another location with the same class files
    names = ClassNames(
        {"probe.ProbeConnector": ("probe.ProbeConnector", folder), "Probe": ("probe.ProbeConnector", folder),
         "Gone": ("probe.Gone", folder), _OWN: (_OWN, folder),
         "JsonConverter": ("org.apache.kafka.connect.json.JsonConverter", None)},
        {folder: [f"{folder}/"]},
    )  # fmt: skip
    with own_host(replace(settings(), names=names)) as host:
        task = JavaSinkTask(host, JavaClass(alone.name, alone.location, [f"{folder}/"]))
        task.context = _SinkContext()  # type: ignore[assignment] # as much as the probe needs
        task.start({})
        assert _asked(task, "load Probe") == "probe.ProbeConnector by PluginClassLoader"
        assert _asked(task, "load probe.ProbeConnector") == "probe.ProbeConnector by PluginClassLoader"
        assert _asked(task, f"load {_OWN}") == f"{_OWN} by PluginClassLoader"
        assert _asked(task, "load JsonConverter") == "org.apache.kafka.connect.json.JsonConverter by AppClassLoader"
        assert _asked(task, "load Gone") == "not found"
        assert _asked(task, "load java.lang.Strang") == "not found"
        task.stop()


def test_a_converter_reads_and_writes_headers() -> None:
    converter = JavaConverter(shared_host(), probe("HeaderedConverter"))
    converter.configure({}, False)
    assert converter.uses_headers
    headers: list[tuple[str, bytes | None]] = [("unit", b"km"), ("none", None)]
    assert converter.to_connect_with_headers("t", headers, b"3") == (OPTIONAL_STRING_SCHEMA, "3km")
    assert converter.from_connect_with_headers("t", headers, STRING_SCHEMA, "4") == b"4"
    assert headers == [("unit", b"km"), ("none", None), ("topic", b"t")]
    converter.close()
    assert not JavaConverter(shared_host(), probe("OrderConverter")).uses_headers


def test_a_batch_with_bad_values_is_converted_once() -> None:
    """The converter counts its calls: each value is converted once, and again only if its error is retried."""
    converter = JavaConverter(shared_host(), probe("OrderConverter"))
    converter.configure({"name": "v"}, False)
    data = [b"a", b"v:DataException", b"b", b"v:retry 1", b"c"]
    with pytest.raises(DataError, match="bad data"):
        converter.to_connect_batch("t", data)
    assert converter.to_connect("t", data[0]) == (STRING_SCHEMA, "1 a")
    with pytest.raises(DataError):
        converter.to_connect("t", data[1])
    assert converter.to_connect("t", data[2]) == (STRING_SCHEMA, "3 b")
    with pytest.raises(RetriableError):
        converter.to_connect("t", data[3])
    assert converter.to_connect("t", data[3]) == (STRING_SCHEMA, "5 v:retry 1")
    assert converter.to_connect("t", data[4]) == (STRING_SCHEMA, "6 c"), "behind a retriable error nothing was tried"
    values = ValueBatch(STRING_SCHEMA, ["x", "v:RuntimeException", "y"])
    with pytest.raises(ConnectError, match="bad code"):
        converter.from_connect_batch("t", values)
    assert converter.from_connect("t", STRING_SCHEMA, values.rows[2]) == b"9 y"
    assert converter.from_connect_batch("t", ValueBatch(STRING_SCHEMA, ["z"])) == [b"10 z"]
    converter.close()


class _Reports:
    def __init__(self) -> None:
        self.failures: list[Any] = []

    def report(self, failure: Failure) -> None:
        self.failures.append((failure.record, failure.plugin, type(failure.error).java_name))  # type: ignore[attr-defined] # of Java


class _Message:
    """As much of a Kafka message as a chain needs."""

    def __init__(self, value: str) -> None:
        self._value = value

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return 3

    def timestamp(self) -> tuple[int, int]:
        return 1, 1000

    def __repr__(self) -> str:
        return self._value


def _step(name: str) -> JavaTransformation:
    step = JavaTransformation(shared_host(), probe("OrderStep"))
    step.configure({"name": name})
    return step


def _run(tolerance: str, values: list[str], java_only: bool = True) -> tuple[list[Any], Any, list[Any]]:
    """Results, error and failures of records that pass the steps a, b (unless "skip" is in the text) and c."""
    predicate = JavaPredicate(shared_host(), probe("OrderPredicate"))
    predicate.configure({})
    steps = [ChainStep(_step("a")), ChainStep(_step("b"), predicate), ChainStep(_step("c"))]
    if not java_only:
        from runtime.plugins.loading import load_target

        target = dict(TRANSFORMATIONS)["org.apache.kafka.connect.transforms.InsertHeader"]
        header = load_target(target)()
        header.configure({"header": "h", "value.literal": "x"})
        steps.insert(2, ChainStep(header))
    reports = _Reports()
    control = TaskControl(False, lambda: None)
    policy = Policy(tolerate_all=tolerance == "all", retry_timeout=5.0)
    chain = Chain(steps, Tolerance(policy, "c-0", control, reports), sink_place)
    records = []
    for value in values:
        records.append(_record(value))
        records[-1].source = _Message(value)
    outcome = chain.run(records)
    chain._tolerance.release([record.source for record in records])
    chain.close()
    return [record.value for record in outcome.records], outcome.error, reports.failures


@pytest.mark.parametrize("java_only", [True, False])
def test_a_failed_record_of_a_run_is_skipped_at_its_step(java_only: bool) -> None:
    values = ["1", "a:DataException", "drop:a", "2 skip", "p:RuntimeException", "drop:b", "3"]
    found, error, failures = _run("all", values, java_only)
    assert error is None
    assert found == ["1+a+b+c", "2 skip+a+c", "p:RuntimeException+a+b+c", "drop:b+a+b+c", "3+a+b+c"]
    assert [(str(record), name) for record, _, name in failures] == [
        ("a:DataException", "org.apache.kafka.connect.errors.DataException")
    ]


def test_a_run_retries_the_step_that_failed_and_continues_behind_it() -> None:
    found, error, failures = _run("none", ["1", "a:retry 1", "2"])
    assert (found, error, failures) == (["1+a+b+c", "a:retry 1+a+b+c", "2+a+b+c"], None, [])


@pytest.mark.parametrize("order", ["DataException", "RuntimeException", "ConnectException"])
def test_without_tolerance_a_run_ends_before_the_record_that_failed(order: str) -> None:
    found, error, failures = _run("none", ["1", f"a:{order}", "2"])
    assert found == ["1+a+b+c"]
    assert str(error) == "Tolerance exceeded in error handler"
    assert [str(record) for record, _, _ in failures] == [f"a:{order}"]


@pytest.mark.parametrize("tolerance", ["none", "all"])
def test_an_error_of_java_is_not_tolerated(tolerance: str) -> None:
    """Connect tolerates exceptions, but not errors."""
    found, error, failures = _run(tolerance, ["1", "a:Error", "2"])
    assert (found, failures) == (["1+a+b+c"], [])
    assert (type(error).java_name, str(error)) == ("java.lang.LinkageError", "bad class")


def test_a_predicate_that_raises_fails_its_transformation() -> None:
    predicate = JavaPredicate(shared_host(), probe("OrderPredicate"))
    predicate.configure({})
    reports = _Reports()
    tolerance = Tolerance(Policy(tolerate_all=True), "c-0", TaskControl(False, lambda: None), reports)
    chain = Chain([ChainStep(_step("a"), predicate)], tolerance, lambda record: (record, ""))
    outcome = chain.run([_record("1"), _record("p:DataException"), _record("2")])
    tolerance.release([])
    assert [record.value for record in outcome.records] == ["1+a", "2+a"]
    assert [name for _, _, name in reports.failures] == ["org.apache.kafka.connect.errors.DataException"]
    chain.close()


def test_metrics_of_transformations() -> None:
    step = _step("m")
    step.apply(_record("1"))
    wait_until(lambda: [m.value for m in step.metrics_owner.metrics] == [1.0], 10)
    (metric,) = step.metrics_owner.metrics
    assert dict(metric.tags) == {"connector": "", "task": "", "transformation": "", "step-name": "m"}
    step.close()


def test_a_run_crosses_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = itertools.count()
    original = JavaTransformation.apply_run

    def counted(self: JavaTransformation, *arguments: Any) -> list[Any]:
        next(calls)
        return original(self, *arguments)

    monkeypatch.setattr(JavaTransformation, "apply_run", counted)
    found, _, _ = _run("none", [str(number) for number in range(500)])
    assert found[499] == "499+a+b+c"
    assert next(calls) == 1

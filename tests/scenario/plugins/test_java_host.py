"""The task host JVM with Kafka's own plugins and with probes that are compiled for the test."""

from __future__ import annotations

import gc
import logging
import os
import resource
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime.api.data.record import SinkRecord, SourceRecord, TopicPartition
from runtime.api.data.schema import (
    INT32_SCHEMA,
    STRING_SCHEMA,
)
from runtime.api.errors import ConfigError, ConnectError, RetriableError
from runtime.api.task import RecordMetadata
from runtime.java.errors import HostLostError, HostStartError
from runtime.java.host.deadline import limited
from runtime.java.host.host import JavaClass
from runtime.java.host.process import JvmEnd
from runtime.java.plugins.connector import JavaSourceConnector
from runtime.java.plugins.converters import JavaConverter
from runtime.java.plugins.sink_task import JavaSinkTask
from runtime.java.plugins.source_task import JavaSourceTask, ReportingJavaSourceTask
from runtime.java.plugins.steps import JavaPredicate, JavaTransformation
from runtime.model.states import State
from runtime.pipeline.task.failure import trace_of
from tests.support.broker import KafkaBroker
from tests.support.java.host import FILE, own_host, probe, probes, settings, shared_host, sink_record
from tests.support.kafka.topics import count
from tests.support.processes import freeze
from tests.support.tasks.pipeline import file_sink, file_source, group_offsets, source_offsets
from tests.support.tasks.slot_host import RunningTask
from tests.support.tasks.task_contexts import StoredOffsets, TaskSourceContext
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

_KAFKA = "org.apache.kafka.connect."
_TP = TopicPartition("t", 0)


class _SinkContext:
    """Records what a sink task requests."""

    assignment = frozenset({_TP})

    def __init__(self) -> None:
        self.configs: dict[str, str] = {}
        self.committed: dict[TopicPartition, int] = {}
        self.calls: list[Any] = []
        self.errant_record_reporter: Any = self

    def seek(self, offsets: Any) -> None:
        self.calls.append(("seek", offsets))

    def pause(self, *partitions: TopicPartition) -> None:
        self.calls.append(("pause", partitions))

    def resume(self, *partitions: TopicPartition) -> None:
        self.calls.append(("resume", partitions))

    def timeout(self, seconds: float) -> None:
        self.calls.append(("timeout", seconds))

    def request_commit(self) -> None:
        self.calls.append(("request_commit",))

    def check_ownership(self) -> None:
        self.calls.append(("check_ownership",))

    def report(self, record: SinkRecord, error: Exception) -> _SinkContext:
        self.calls.append(("report", record.value, type(error).java_name, str(error)))  # type: ignore[attr-defined]
        return self

    def done(self) -> bool:
        return True

    def result(self, timeout: float | None = None) -> None:
        self.calls.append(("result", timeout))


@pytest.fixture
def sink() -> Iterator[JavaSinkTask]:
    task = JavaSinkTask(shared_host(), probe("ProbeSink"))
    task.context = _SinkContext()
    task.start({})
    task.open([_TP])
    yield task
    task.stop()


def test_lines_of_a_file_pass_through_javas_file_connectors(broker: KafkaBroker, topic: str, tmp_path: Path) -> None:
    lines = [f"{number} ä" for number in range(20_000)]
    read, written = tmp_path / "in.txt", tmp_path / "out.txt"
    read.write_text("".join(f"{line}\n" for line in lines))
    spec = file_source(broker, read, topic, task_class="tests.support.java.host:FileSource")
    source = RunningTask(spec)
    wait_until(lambda: count(broker.bootstrap, topic) >= len(lines), 60)
    source.stop()
    assert source.host.states == [State.RUNNING], source.host.trace
    (committed,) = source_offsets(broker, spec)
    assert committed.offset == {"position": len(read.read_text())}  # Java counts characters
    target = file_sink(broker, written, topic, task_class="tests.support.java.host:FileSink")
    running = RunningTask(target)
    wait_until(lambda: written.exists() and written.stat().st_size >= read.stat().st_size, 60)
    running.stop()
    assert written.read_text() == read.read_text()
    assert group_offsets(broker, target) == {(topic, 0): len(lines)}


def test_a_task_whose_jvm_is_killed_is_handed_out_again(broker: KafkaBroker, topic: str, tmp_path: Path) -> None:
    read = tmp_path / "in.txt"
    read.write_text("line\n")
    running = RunningTask(file_source(broker, read, topic, task_class="tests.support.java.host:FileSource"))
    wait_until(lambda: count(broker.bootstrap, topic) == 1, 60)
    pid = shared_host().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    running.join()
    assert running.host.states == [State.RUNNING, State.UNASSIGNED]
    assert "The task host JVM has ended by SIGKILL" in running.host.trace


def test_transformations_and_predicates_of_java() -> None:
    step = JavaTransformation(shared_host(), JavaClass(f"{_KAFKA}transforms.InsertField$Value"))
    step.configure({"topic.field": "topic", "static.field": "s", "static.value": "v"})
    record = SourceRecord({"p": 1}, {"o": 2}, "t", {"a": 1}, headers=[("h", STRING_SCHEMA, "x")], timestamp=5)
    changed = step.apply(record)
    assert changed is not None
    assert changed.value == {"a": 1, "topic": "t", "s": "v"}
    assert (changed.source_offset, changed.headers, changed.timestamp) == ({"o": 2}, record.headers, 5)
    copies = step.apply_run([(step, None, False)], [record, record], True)
    assert [copy.headers for copy in copies] == [record.headers] * 2
    assert copies[0].headers is not copies[1].headers, "equal headers cross once"
    other = SourceRecord({"p": 1}, {"o": 3}, "t", {"a": 1}, headers=[("h", STRING_SCHEMA, "y"), ("i", INT32_SCHEMA, 1)])
    mixed = [record, other, SourceRecord({"p": 1}, {"o": 4}, "t", {"a": 1})]
    changed_headers = [each.headers for each in step.apply_run([(step, None, False)], mixed, True)]
    assert changed_headers == [record.headers, other.headers, None]
    sunk = step.apply(SinkRecord("t", 3, None, None, None, {"a": 1}, 9, 5))
    assert sunk is not None
    assert (sunk.value["topic"], sunk.kafka_partition, sunk.kafka_offset) == ("t", 3, 9)
    step.close()
    drop = JavaTransformation(shared_host(), JavaClass(f"{_KAFKA}transforms.Filter"))
    assert drop.apply(record) is None
    tombstone = JavaPredicate(shared_host(), JavaClass(f"{_KAFKA}transforms.predicates.RecordIsTombstone"))
    assert [tombstone.test(one) for one in (record, SourceRecord(None, None, "t", None))] == [False, True]
    with pytest.raises(ConfigError, match="No field insertion configured"):
        JavaTransformation(shared_host(), JavaClass(f"{_KAFKA}transforms.InsertField$Value")).configure({})


def test_a_java_connector_validates_and_divides_its_work() -> None:
    connector = JavaSourceConnector(shared_host(), JavaClass(f"{FILE}SourceConnector"))
    assert connector.version() == "4.3.0"
    assert list(connector.definition.keys) == ["file", "topic", "batch.size"]
    assert connector.definition.keys["topic"].required
    found = {value.name: value for value in connector.validate({"file": "f", "batch.size": "x"})}
    assert found["topic"].errors == ['Missing required configuration "topic" which has no default value.']
    assert found["batch.size"].errors
    config = {"file": "f", "topic": "t", "name": "n"}
    connector.start(config)
    assert connector.task_name == f"{FILE}SourceTask"
    assert connector.task_configs(3) == [config]
    assert str(connector.exactly_once_support(config)) == "ExactlyOnceSupport.SUPPORTED"
    assert not connector.can_define_transaction_boundaries(config)
    assert connector.alter_offsets(config, [({"filename": "f"}, {"position": 3}), ({"filename": "g"}, None)])
    with pytest.raises(ConnectError, match="position"):
        connector.alter_offsets(config, [({"filename": "f"}, {"position": -1})])
    connector.stop()


def test_requests_of_a_sink_task_reach_its_context(sink: JavaSinkTask, caplog: pytest.LogCaptureFixture) -> None:
    context: Any = sink.context
    with caplog.at_level(logging.INFO):
        sink.put([sink_record("class"), sink_record("context"), sink_record("report"), sink_record("log")])
    assert context.calls == [
        ("seek", {_TP: 42}),
        ("pause", (_TP,)),
        ("resume", (_TP,)),
        ("timeout", 1.5),
        ("request_commit",),
        ("report", "report", "java.lang.RuntimeException", "bad"),
        ("result", None),
    ]
    wait_until(lambda: "a logged line" in caplog.messages, 10)
    assert sink.pre_commit({_TP: 6}) == {_TP: 6}
    assert sink.version() == "7"


def test_exceptions_of_a_task_have_javas_class_and_trace(sink: JavaSinkTask) -> None:
    with pytest.raises(RetriableError, match="later"):
        sink.put([sink_record("retry")])
    with pytest.raises(ConnectError, match="broken") as failed:
        sink.put([sink_record("fail")])
    trace = trace_of(failed.value)
    assert trace.startswith("java.lang.IllegalStateException: broken\n\tat probe.ProbeSink.put")
    assert "Caused by: java.lang.RuntimeException: cause" in trace


def test_a_put_that_hangs_is_interrupted(sink: JavaSinkTask) -> None:
    raised: list[BaseException] = []

    def put() -> None:
        try:
            sink.put([sink_record("hang")])
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=put)
    thread.start()
    wait_until(lambda: "ProbeSink.put" in (shared_host().stack(sink.plugin) or ""), 10)
    sink.interrupt()
    thread.join(30)
    assert isinstance(raised[0], HostLostError)
    (jvm,) = shared_host().jvms
    wait_until(lambda: sink.plugin.link.number not in jvm.status().links, 10)


def test_reports_and_live_offsets_of_a_source_task() -> None:
    stored = StoredOffsets()
    task = JavaSourceTask(shared_host(), probe("ProbeSource"))
    assert isinstance(task, ReportingJavaSourceTask)
    task.context = TaskSourceContext(stored)
    task.start({})
    records = task.poll() or []
    assert [(r.topic, r.value, r.source_offset) for r in records] == [
        ("t0", "even", {"at": 0}),
        ("t1", 1, {"at": 1}),
        ("t0", "even", {"at": 2}),
    ]
    task.commit_record(records[0], RecordMetadata("t0", 0, 77, 1000))
    task.commit_record(records[1], None)
    stored.commit(records)
    task.commit()
    (seen,) = task.poll() or []
    assert seen.value == "[t0@77, t1@dropped, {at=2}]"
    task.stop()
    quiet = JavaSourceTask(shared_host(), probe("QuietSource"))
    assert not isinstance(quiet, ReportingJavaSourceTask)
    quiet.stop()


def test_reports_of_a_source_task_that_returns_the_same_list_again() -> None:
    task = JavaSourceTask(shared_host(), probe("ReusingSource"))
    task.context = TaskSourceContext(StoredOffsets())
    task.start({})
    first, second = list(task.poll() or []), list(task.poll() or [])
    assert [record.value for record in (*first, *second)] == ["3.0[]", "3.1[]", "3.2[]", "2.0[]", "2.1[]"]
    for record in first:
        task.commit_record(record, RecordMetadata("t", 0, 1, 1000))
    (last,) = task.poll() or []
    assert last.value == "1.0[3.0[], 3.1[], 3.2[]]"
    task.stop()


def test_a_class_whose_optional_libraries_are_missing_can_be_used(tmp_path: Path) -> None:
    folder = shutil.copytree(probes(), tmp_path / "plugin")
    (folder / "probe" / "OptionalLibrary.class").unlink()

    def optional(name: str) -> JavaClass:
        return JavaClass(f"probe.{name}", str(folder), [f"{folder}/"])

    task = JavaSourceTask(shared_host(), optional("OptionalSource"))
    assert isinstance(task, ReportingJavaSourceTask)
    task.stop()
    converter = JavaConverter(shared_host(), optional("OptionalConverter"))
    converter.configure({}, False)
    assert converter.from_connect("t", STRING_SCHEMA, "a") == b"a"
    converter.close()


def test_each_location_has_its_own_jdbc_drivers(tmp_path: Path) -> None:
    for name in ("first", "second"):
        folder = shutil.copytree(probes(), tmp_path / name)
        services = folder / "META-INF" / "services"
        services.mkdir(parents=True)
        (services / "java.sql.Driver").write_text("probe.ProbeDriver\n")
        step = JavaTransformation(shared_host(), JavaClass("probe.JdbcStep", str(folder), [f"{folder}/"]))
        step.configure({"url": f"jdbc:{folder}/"})
        step.plugin.close()


def test_transactions_that_a_source_task_requests() -> None:
    class Transactions:
        def __init__(self) -> None:
            self.requests: list[Any] = []

        def commit(self, record: SourceRecord | None = None) -> None:
            self.requests.append(("commit", record))

        def abort(self, record: SourceRecord | None = None) -> None:
            self.requests.append(("abort", record))

    task, context = JavaSourceTask(shared_host(), probe("QuietSource")), TaskSourceContext()
    context.transactions = transactions = Transactions()  # type: ignore[assignment] # records the requests
    task.context = context
    task.start({})
    records = task.poll() or []
    assert transactions.requests == [("commit", records[1]), ("abort", None)]
    task.stop()


def test_a_plugin_that_exits_costs_the_jvm_only() -> None:
    with own_host() as host:
        task = JavaSinkTask(host, probe("ProbeSink"))
        task.context = _SinkContext()
        task.start({})
        with pytest.raises(HostLostError, match="has ended with code 5"):
            task.put([sink_record("exit")])
        task.stop()
        first = host.pid
        again = JavaSinkTask(host, probe("ProbeSink"))
        assert host.pid not in (None, first)
        again.stop()


def test_a_jvm_that_cannot_open_files_ends_instead_of_leaving_new_plugins_without_an_answer() -> None:
    predicate = JavaClass(f"{_KAFKA}transforms.predicates.RecordIsTombstone")
    with own_host() as host:
        host.start()
        assert host.pid is not None
        resource.prlimit(host.pid, resource.RLIMIT_NOFILE, (3, 3))
        with limited(60), pytest.raises(HostLostError, match="Too many open files"):
            host.create("predicate", predicate, "test")
        host.create("predicate", predicate, "test").close()


def test_a_jvm_ends_with_its_lease_also_after_it_was_stopped(tmp_path: Path) -> None:
    cell = tmp_path / "cell"
    cell.write_bytes(bytes(24))

    def grant(deadline: float) -> None:
        with cell.open("r+b") as file:
            file.write(int(deadline * 1e9).to_bytes(8, "little") * 2)

    given = settings()
    leased = type(given)(given.java, given.classpath, lease=cell)
    with own_host(leased) as host:
        task = JavaSinkTask(host, probe("ProbeSink"))
        pid = host.pid
        assert pid is not None
        grant(time.monotonic() + 3600)
        task.open([_TP])
        freeze(pid)
        grant(time.monotonic())
        os.kill(pid, signal.SIGCONT)
        wait_until(lambda: host.pid is None, 10)
        with pytest.raises(HostLostError, match="has ended with code 70"):
            task.put([sink_record("class")])


def test_a_jvm_that_does_not_start_is_an_error_of_its_options() -> None:
    with own_host(replace(settings(), options=("-XX:+NoSuchOption",))) as host:
        with pytest.raises(HostStartError, match=r"NoSuchOption.*Check headrace\.java\.options"):
            JavaSinkTask(host, probe("ProbeSink"))
        assert host.pid is None


def test_an_object_whose_code_ignores_interrupts_is_a_leak_and_the_jvm_can_be_replaced() -> None:
    ends: list[tuple[JvmEnd, frozenset[int]]] = []
    with own_host() as host:
        host._on_end = lambda end, owners: ends.append((end, owners))
        task, other = JavaSinkTask(host, probe("ProbeSink")), JavaSinkTask(host, probe("ProbeSink"))
        task.context = other.context = _SinkContext()
        task.start({})
        thread = threading.Thread(target=_ignored, args=(task, sink_record("deaf")))
        thread.start()
        wait_until(lambda: any("ProbeSink.put" in stack for stack in host.stacks(thread.ident or 0)), 10)
        host.release(threading.get_ident())
        with pytest.raises(HostLostError, match="revoked"):
            JavaSinkTask(host, probe("ProbeSink"))
        host.release(threading.get_ident(), ended=True)
        thread.join(30)
        (jvm,) = host.jvms
        number = task.plugin.link.number
        wait_until(lambda: jvm.leaks(jvm.status(), time.monotonic()) == [number], 10)
        host.retire(jvm)
        new = JavaSinkTask(host, probe("ProbeSink"))
        assert [one is jvm for one in host.jvms] == [True, False]
        jvm.end(JvmEnd("replaced", planned=True))
        wait_until(lambda: bool(ends), 10)
        assert ends == [(JvmEnd("replaced", planned=True), frozenset())]
        new.open([_TP])


def _ignored(task: JavaSinkTask, record: SinkRecord) -> None:
    with pytest.raises(HostLostError):
        task.put([record])


def test_a_jvm_ends_when_its_host_is_stopped() -> None:
    with own_host() as host:
        JavaSinkTask(host, probe("ProbeSink"))
        pid = host.pid
        assert pid is not None
        assert host.jvms[0].status().heap > 0
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)

"""Java tasks in Spark slots: the JVM is lost alone, whatever a plugin does, and no record with it."""

from __future__ import annotations

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runtime.engine.placement import suspects
from runtime.model.rate_limit import RateLimit
from runtime.model.states import State, TaskId
from runtime.model.task_spec import ConverterSpec, TaskSpec
from tests.support.broker import KafkaBroker, unique
from tests.support.connect import dead_letters
from tests.support.java.slots import LEASE, JavaSlots, file_task, is_jvm, order_plugin
from tests.support.kafka.topics import committed_end, count
from tests.support.processes import freeze
from tests.support.tasks.pipeline import file_sink, file_source, group_offsets, messages, source_offsets
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

_SMALL_HEAP = 64


@pytest.fixture(scope="module")
def slots(broker: KafkaBroker) -> Iterator[JavaSlots]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
        rig = JavaSlots(broker, slots=1, java_heap=_SMALL_HEAP)
        yield rig
        rig.close()


@pytest.fixture(autouse=True)
def stopped(slots: JavaSlots) -> Iterator[None]:
    """Tasks end with their test."""
    yield
    for task in list(slots.specs):
        slots.stop(task.connector)


@pytest.fixture
def neighbour(slots: JavaSlots, broker: KafkaBroker, tmp_path: Path) -> Iterator[str]:
    """A Python task in the same slot, which nothing may disturb."""
    (tmp_path / "neighbour").write_text("line\n")
    name = slots.start(file_source(broker, tmp_path / "neighbour", broker.create_topic()))
    pid = slots.slot(name).pid
    yield name
    assert slots.epoch(name) == 1
    assert slots.states(name) == [State.RUNNING]
    assert slots.slot(name).pid == pid


def _order_sink(broker: KafkaBroker, file: Path, topic: str, **more: Any) -> TaskSpec:
    return file_sink(broker, file, topic, task_class=order_plugin("OrderSink"), **more)


def _whole_lines(file: Path) -> set[str]:
    """Without the part of a line that Kafka's sink leaves when it is killed."""
    found = re.findall("line \\d+ ä(?=\\n)".encode(), file.read_bytes() if file.exists() else b"")
    return {line.decode() for line in found}


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def test_only_java_tasks_need_a_jvm_and_they_share_it(
    slots: JavaSlots, neighbour: str, broker: KafkaBroker, tmp_path: Path
) -> None:
    """Everything that is in transit when the JVM is killed arrives."""
    before = slots.jvms()
    lines = [f"line {number} ä" for number in range(60_000)]
    read, written, topic = tmp_path / "in", tmp_path / "out", broker.create_topic()
    read.write_text("".join(f"{line}\n" for line in lines[:30_000]))
    source = file_source(broker, read, topic, task_class=file_task("Source"), config={"batch.size": "500"})
    sink = file_sink(broker, written, topic, task_class=file_task("Sink"))
    names = [slots.start(source), slots.start(sink)]
    jvm = slots.jvm(source.connector)
    assert not before
    assert slots.jvm(sink.connector) == jvm
    assert slots.jvms() == {jvm: slots.slot(neighbour).pid}
    wait_until(lambda: count(broker.bootstrap, topic) > 3_000)
    os.kill(jvm, signal.SIGKILL)
    for name in names:
        slots.wait_restarted(name)
        assert slots.lost(name) == ["The task host JVM has ended by SIGKILL"]
    with read.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines[30_000:]))
    wait_until(lambda: _whole_lines(written) == set(lines), 60)
    assert not is_jvm(jvm)
    slots.stop(sink.connector)
    assert group_offsets(broker, sink) == {(topic, 0): count(broker.bootstrap, topic)}


def test_a_jvm_ends_with_its_slot(slots: JavaSlots, broker: KafkaBroker, topic: str, tmp_path: Path) -> None:
    """Also if both are frozen before, so that neither can do anything about it."""
    spec = _order_sink(broker, tmp_path / "out", topic)
    name = slots.start(replace(spec, consumer={**spec.consumer, "session.timeout.ms": 6000}))
    jvm, slot = slots.jvm(name), slots.slot(name).pid
    freeze(jvm)
    freeze(slot)
    os.kill(slot, signal.SIGKILL)
    wait_until(lambda: not is_jvm(jvm), 10)
    slots.wait_restarted(name)
    broker.produce(topic, b"after")
    wait_until(lambda: _lines(tmp_path / "out") == ["after"])


@pytest.mark.soak
@pytest.mark.parametrize("frozen", ["slot", "jvm"])
def test_a_plugin_writes_nothing_after_the_lease(
    frozen: str, slots: JavaSlots, broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    """A put() that never returns, while the process above it or its own is frozen before the lease ends."""
    broker.produce(topic, b"!tick")
    spec = _order_sink(broker, tmp_path / "out", topic)
    name = slots.start(replace(spec, consumer={**spec.consumer, "session.timeout.ms": 6000}))
    wait_until(lambda: len(_lines(tmp_path / "out")) > 10)
    jvm, slot = slots.jvm(name), slots.slot(name).pid
    slots.lease = 0.0
    end = time.monotonic() + LEASE
    freeze(slot if frozen == "slot" else jvm)
    if frozen == "jvm":
        time.sleep(LEASE)
        if is_jvm(jvm):
            os.kill(jvm, signal.SIGCONT)
    wait_until(lambda: not is_jvm(jvm), 20)
    last = int(_lines(tmp_path / "out")[-1]) / 1e9
    slots.stop(name, 0.1)
    slots.lease = float("inf")
    assert last <= end + 0.3, f"written {last - end:.2f} s after the lease"
    wait_until(lambda: slots.engine.has_slots and slots.engine.may_run(), 60)


@pytest.mark.parametrize("order", ["!exit", "!memory"])
def test_a_plugin_that_ends_its_jvm_costs_no_record(
    order: str, slots: JavaSlots, neighbour: str, broker: KafkaBroker, tmp_path: Path
) -> None:
    topic, marker = broker.create_topic(), tmp_path / "marker"
    values = [f"value {number}" for number in range(2_000)]
    values[1_000] = f"{order} {marker}"
    broker.produce(topic, *(value.encode() for value in values))
    name = slots.start(_order_sink(broker, tmp_path / "out", topic))
    wait_until(lambda: set(_lines(tmp_path / "out")) == set(values), 60)
    (reason,) = slots.lost(name)
    if order == "!exit":
        assert reason == "The task host JVM has ended with code 7"
    else:
        assert "Java heap space" in reason
        assert "Raise headrace.java.heap.mb" in reason


def test_a_plugin_that_always_ends_its_jvm_fails(
    slots: JavaSlots,
    neighbour: str,
    broker: KafkaBroker,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(suspects, "_FIRST_REST", 0.1)
    broker.produce(topic, b"good", b"!exit")
    name = slots.start(_order_sink(broker, tmp_path / "out", topic), wait=False)
    wait_until(lambda: State.FAILED in slots.states(name), 60)
    assert "has ended 5 times in a row while only this task used it" in slots.heard.trace(TaskId(name, 0))
    assert "with code 7" in slots.heard.trace(TaskId(name, 0))
    assert set(group_offsets(broker, slots.specs[TaskId(name, 0)]).values()) <= {0}


def test_a_put_that_hangs_has_a_java_stack_and_is_interrupted_when_the_task_is_revoked(
    slots: JavaSlots, neighbour: str, broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    broker.produce(topic, b"!hang")
    other = slots.start(_order_sink(broker, tmp_path / "other", broker.create_topic()))
    name = slots.start(_order_sink(broker, tmp_path / "out", topic))
    jvm = slots.jvm(name)
    wait_until(lambda: "slots.Orders.obey" in slots.stack(name).stack)
    found = slots.stack(name)
    assert found.call == "put"
    assert "In Java:\n\tat java.base" in found.stack
    assert "\tat slots.OrderSink.put" in found.stack
    assert not slots.stop(name, graceful=0.5)
    wait_until(lambda: TaskId(name, 0) not in slots.slot(neighbour).tasks, 10)
    assert slots.jvm(other) == jvm
    assert slots.epoch(other) == 1


def test_a_plugin_that_ignores_interrupts_costs_the_jvm_when_the_other_tasks_have_moved(
    slots: JavaSlots, neighbour: str, broker: KafkaBroker, tmp_path: Path
) -> None:
    topic, quiet = broker.create_topic(), broker.create_topic()
    broker.produce(topic, b"!deaf")
    broker.produce(quiet, b"one")
    other = slots.start(_order_sink(broker, tmp_path / "other", quiet, flush_interval=60.0))
    name = slots.start(_order_sink(broker, tmp_path / "out", topic))
    wait_until(lambda: _lines(tmp_path / "other") == ["one"])
    jvm = slots.jvm(name)
    wait_until(lambda: "slots.Orders.obey" in slots.stack(name).stack)
    assert not slots.stop(name, graceful=0.5)
    slots.wait_restarted(other)
    (reason,) = slots.lost(other)
    assert "ignores that it was interrupted" in reason
    broker.produce(quiet, b"two")
    wait_until(lambda: "two" in _lines(tmp_path / "other"))
    assert _lines(tmp_path / "other") == ["one", "two"], "the task commits before it moves"
    wait_until(lambda: not is_jvm(jvm), 20)
    assert slots.jvm(other) != jvm


@pytest.mark.soak
def test_a_jvm_that_is_frozen_is_replaced(
    slots: JavaSlots, neighbour: str, broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    name = slots.start(_order_sink(broker, tmp_path / "out", topic))
    jvm = slots.jvm(name)
    freeze(jvm)
    broker.produce(topic, b"one")
    slots.wait_restarted(name)
    assert "has not answered for" in slots.lost(name)[0]
    wait_until(lambda: _lines(tmp_path / "out") == ["one"])
    assert not is_jvm(jvm)


@pytest.mark.parametrize("kind", ["transformation", "converter"])
def test_java_plugins_of_a_python_task_are_never_the_reason_to_skip_a_record(
    kind: str, slots: JavaSlots, neighbour: str, broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    """The JVM ends in a transformation or converter, while errors are tolerated."""
    lines, marker = [f"line {number}" for number in range(3_000)], tmp_path / "marker"
    lines[1_500] = f"!exit {marker}"
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in lines))
    spec = file_source(broker, tmp_path / "in", topic, config={"errors.tolerance": "all"})
    if kind == "transformation":
        config = {**spec.config, "transforms": "t", "transforms.t.type": "slots.OrderStep"}
        spec = replace(spec, config=config, targets={"transforms.t.type": order_plugin("OrderStep")})
    else:
        target = {"value.converter": order_plugin("OrderConverter")}
        spec = replace(spec, value_converter=ConverterSpec("slots.OrderConverter"), targets=target)
    name = slots.start(spec)
    wait_until(lambda: marker.exists() and slots.epoch(name) == 2, 60)
    wait_until(lambda: {m.value().decode() for m in messages(broker, topic)} == set(lines), 60)


def test_dead_letters_name_the_java_class(slots: JavaSlots, broker: KafkaBroker, tmp_path: Path) -> None:
    topic, letters = broker.create_topic(), broker.create_topic()
    broker.produce(topic, b"one", b"?", b"two")
    spec = _order_sink(
        broker,
        tmp_path / "out",
        topic,
        config=dead_letters(letters),
        producer={"bootstrap.servers": broker.bootstrap},
        admin={"bootstrap.servers": broker.bootstrap},
    )
    slots.start(spec)
    wait_until(lambda: _lines(tmp_path / "out") == ["one", "two"])
    (letter,) = wait_until(lambda: messages(broker, letters))
    headers = {name.rpartition(".")[2]: (value or b"").decode() for name, value in letter.headers()}
    assert headers["name"] == "java.lang.IllegalArgumentException"
    assert headers["message"] == "not a value: ?"
    assert "slots.OrderSink.put" in headers["stacktrace"]


def test_levels_of_java_loggers_change_at_run_time_and_lines_carry_the_task(
    slots: JavaSlots, broker: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    name = slots.start(_order_sink(broker, tmp_path / "out", topic))
    slots.set_levels({"slots.OrderSink": "DEBUG"})
    try:
        broker.produce(topic, b"one")
        wait_until(lambda: "value one" in slots.lines(name))
    finally:
        slots.set_levels({"slots.OrderSink": "INFO"})


def test_a_java_source_pauses_and_resumes(slots: JavaSlots, broker: KafkaBroker, tmp_path: Path) -> None:
    read, topic = tmp_path / "in", broker.create_topic()
    read.write_text("one\n")
    spec = file_source(broker, read, topic, task_class=file_task("Source"))
    name = slots.start(spec)
    wait_until(lambda: count(broker.bootstrap, topic) == 1)
    slots.pause(name, True)
    wait_until(lambda: slots.states(name)[-1] is State.PAUSED)
    assert [offset.offset for offset in source_offsets(broker, spec)] == [{"position": 4}]
    with read.open("a") as file:
        file.write("two\n")
    slots.pause(name, False)
    wait_until(lambda: count(broker.bootstrap, topic) == 2)


def test_a_java_source_keeps_its_rate_limit_without_bursts(
    slots: JavaSlots, broker: KafkaBroker, tmp_path: Path
) -> None:
    """All lines are one poll of Kafka's file source."""
    read, topic, limit = tmp_path / "in", broker.create_topic(message_timestamp_type="LogAppendTime"), 200
    read.write_text("".join(f"line {n}\n" for n in range(1_000)))
    spec = file_source(broker, read, topic, task_class=file_task("Source"), limit=RateLimit(records=limit))
    name = slots.start(spec)
    wait_until(lambda: count(broker.bootstrap, topic) >= 2 * limit)
    slots.stop(name)
    sent = [message.timestamp()[1] for message in messages(broker, topic)]
    assert sent[-1] - sent[0] > 500, "milliseconds"
    assert max(Counter(sent).values()) <= limit * 0.75, "a part of the poll, also after a delay of the slot"


def test_a_java_source_defines_its_transactions_with_exactly_once(
    slots: JavaSlots, broker: KafkaBroker, tmp_path: Path
) -> None:
    """Also if its JVM is killed meanwhile."""
    topic, transactional = broker.create_topic(), unique("java-tx")
    spec = replace(
        file_source(broker, tmp_path / "unused", topic, task_class=order_plugin("BoundarySource")),
        producer={"bootstrap.servers": broker.bootstrap, "transactional.id": transactional},
        producer_shared=False,
        transactional_id=transactional,
        transaction_boundary="connector",
    )
    name = slots.start(spec)
    wait_until(lambda: committed_end(broker.bootstrap, topic) >= 100)
    os.kill(slots.jvm(name), signal.SIGKILL)
    slots.wait_restarted(name)
    wait_until(lambda: _committed(broker, topic)[-1:] == [499], 60)
    assert _committed(broker, topic) == [*range(20), *range(30, 500)]


def _committed(broker: KafkaBroker, topic: str) -> list[int]:
    """The numbers in committed transactions."""
    return [int(message.value()) for message in messages(broker, topic)]

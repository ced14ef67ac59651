"""Rows about records: a million lines in, a million records out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.sides import Bench, Refused, create
from tests.support.broker import unique
from tests.support.connect import JSON, JSON_VALUES, SINK, SOURCE, STRING, STRINGS, Connect
from tests.support.process_usage import usage
from tests.support.waiting import wait_until

RECORDS = 1_000_000
_FILLER = "abcdefghij" * 9
_JSON = {
    "key.converter": STRING,
    "value.converter": JSON,
    "value.converter.schemas.enable": "true",
}
_TRANSFORMS = "org.apache.kafka.connect.transforms"
SOURCE_SMTS = {
    "transforms": "hoist,insert,cast",
    "transforms.hoist.type": f"{_TRANSFORMS}.HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.insert.type": f"{_TRANSFORMS}.InsertField$Value",
    "transforms.insert.static.field": "origin",
    "transforms.insert.static.value": "bench",
    "transforms.cast.type": f"{_TRANSFORMS}.InsertField$Value",
    "transforms.cast.topic.field": "topic",
}
SINK_SMTS = {
    "transforms": "insert,replace,extract",
    "transforms.insert.type": f"{_TRANSFORMS}.InsertField$Value",
    "transforms.insert.partition.field": "partition",
    "transforms.replace.type": f"{_TRANSFORMS}.ReplaceField$Value",
    "transforms.replace.exclude": "origin",
    "transforms.extract.type": f"{_TRANSFORMS}.ExtractField$Value",
    "transforms.extract.field": "line",
}


@dataclass(frozen=True, slots=True)
class Flow:
    """The rate in records per second, and the processor time for a million records."""

    seconds: float
    cpu: float

    def under(self, key: str) -> dict[str, float]:
        """The figures of the report."""
        return {key: RECORDS / self.seconds, f"{key}-cpu": self.cpu / RECORDS * 1e6}


def source(bench: Bench, connect: Connect) -> dict[str, float]:
    """Lines a second, from the request that creates the connector to the last record in the topic."""
    return source_flow(bench, connect, STRINGS).under("source")


def source_exactly_once(bench: Bench, connect: Connect) -> dict[str, float]:
    """As source(), until the last record can be read with the isolation level read_committed."""
    return source_flow(bench, connect, STRINGS, transactions=True).under("source-eos")


def source_smt(bench: Bench, connect: Connect) -> dict[str, float]:
    return source_flow(bench, connect, {**_JSON, **SOURCE_SMTS}).under("source-smt")


def sink(bench: Bench, connect: Connect) -> dict[str, float]:
    """Records a second, from the first byte in the file to the last."""
    topic = filled(bench, "strings", line)
    return sink_flow(bench, connect, topic, STRINGS).under("sink")


def sink_smt(tasks: int) -> Callable[[Bench, Connect], dict[str, float]]:
    """The same for documents in four partitions, with three transformations, by the given number of tasks."""

    def measure(bench: Bench, connect: Connect) -> dict[str, float]:
        topic = filled(bench, "documents", _document, 4)
        return sink_flow(bench, connect, topic, {**_JSON, **SINK_SMTS}, tasks).under(f"sink-smt-{tasks}")

    return measure


_MAPS = {
    "key.converter": STRING,
    **JSON_VALUES,
    "transforms": "insert,replace,key",
    "transforms.insert.type": f"{_TRANSFORMS}.InsertField$Value",
    "transforms.insert.static.field": "origin",
    "transforms.insert.static.value": "bench",
    "transforms.replace.type": f"{_TRANSFORMS}.ReplaceField$Value",
    "transforms.replace.exclude": "secret",
    "transforms.replace.renames": "name:label",
    "transforms.key.type": f"{_TRANSFORMS}.ValueToKey",
    "transforms.key.fields": "id",
}


def sink_maps(bench: Bench, connect: Connect) -> dict[str, float]:
    """JSON without schemas in four partitions, with three transformations, by one task: the size of the file tells the
    end, so every map has a text of the same length."""
    topic = filled(bench, "maps", map_text, 4)
    return sink_flow(bench, connect, topic, _MAPS, size=RECORDS * _MAP_LINE).under("sink-maps")


def map_text(number: int) -> str:
    text = f'"id":{10_000_000 + number},"name":"user-{number:08d}","secret":"{number:016d}"'
    return f'{{{text},"amount":{number % 1000 + 1000}.5,"active":{"true" if number % 2 else "null"},"city":"Berlin"}}'


_MAP_LINE = len("{id=10000000, label=user-00000000, amount=1000.5, active=true, city=Berlin, origin=bench}\n")
_FIELDS = '{"field":"line","type":"string","optional":false},{"field":"origin","type":"string","optional":true}'
_SCHEMA = f'{{"type":"struct","optional":false,"fields":[{_FIELDS}]}}'


def line(number: int) -> str:
    """The line of this number: 99 bytes."""
    return f"{number:08d} {_FILLER}"


def _document(number: int) -> str:
    return f'{{"schema":{_SCHEMA},"payload":{{"line":"{line(number)}","origin":"bench"}}}}'


def source_flow(bench: Bench, connect: Connect, settings: dict[str, str], transactions: bool = False) -> Flow:
    name, topic, lines = unique("source"), bench.topic(), _lines(bench)
    config = {"connector.class": SOURCE, "tasks.max": "1", "file": str(lines), "topic": topic, **settings}
    with watching(bench) as watcher:
        wait_until(lambda: end(watcher, topic) == 0)
        before = usage(connect.worker.pid).cpu
        started = time.monotonic()
        create(connect, name, config)
        until(connect, name, lambda: end(watcher, topic) >= RECORDS)
        if transactions:
            until(connect, name, lambda: _has_last_line(watcher, topic))
        flow = Flow(time.monotonic() - started, usage(connect.worker.pid).cpu - before)
    connect.ask("DELETE", f"/connectors/{name}")
    bench.broker.delete_topics(topic)
    return flow


@contextmanager
def watching(bench: Bench) -> Iterator[Any]:
    """A consumer for end()."""
    from confluent_kafka import Consumer

    watcher = Consumer({"bootstrap.servers": bench.broker.bootstrap, "group.id": unique("watch"), "log_level": 0})
    try:
        yield watcher
    finally:
        watcher.close()


def end(watcher: Any, topic: str) -> int:
    """The end offset of the topic's partition; -1 until the broker has created the partition."""
    from confluent_kafka import KafkaException, TopicPartition

    try:
        end: int = watcher.get_watermark_offsets(TopicPartition(topic, 0), 10)[1]
    except KafkaException:
        return -1
    return end


def _has_last_line(watcher: Any, topic: str) -> bool:
    """Whether the last line can be read (read_committed); transaction markers take offsets, so that the end offset
    does not tell."""
    from confluent_kafka import TopicPartition

    watcher.assign([TopicPartition(topic, 0, max(end(watcher, topic) - 100, 0))])
    last = f"{RECORDS - 1:08d}".encode()
    return any((message.value() or b"").startswith(last) for message in watcher.consume(200, 0.05))


def sink_flow(
    bench: Bench, connect: Connect, topic: str, settings: dict[str, str], tasks: int = 1, size: int = 0
) -> Flow:
    """`size`: of the complete file; that of the lines by default."""
    name = unique("sink")
    out = bench.folder / f"{name}.txt"
    size = size or _lines(bench).stat().st_size
    config = {"connector.class": SINK, "tasks.max": str(tasks), "file": str(out), "topics": topic, **settings}
    before = usage(connect.worker.pid).cpu
    create(connect, name, config)
    until(connect, name, lambda: out.exists() and out.stat().st_size > 0, every=0.002)
    started = time.monotonic()
    until(connect, name, lambda: out.stat().st_size >= size, every=0.005)
    flow = Flow(time.monotonic() - started, usage(connect.worker.pid).cpu - before)
    connect.ask("DELETE", f"/connectors/{name}")
    out.unlink()
    return flow


def until(connect: Connect, name: str, done: Callable[[], bool], every: float = 0.02, timeout: float = 180) -> None:
    """Waits, and checks at intervals whether the task has failed."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            wait_until(done, 5, every=every)
            return
        except AssertionError:
            if "FAILED" in connect.states(name)[1]:
                raise Refused(f"{name}: {connect.status(name)['tasks'][0].get('trace', '')[:300]}") from None
    raise Refused(f"{name} did not finish within {timeout:.0f} s")


def _lines(bench: Bench) -> Path:
    """A file of a million lines of 99 bytes, written once."""
    file = bench.folder / "lines.txt"
    if not file.exists():
        with file.open("w") as out:
            out.writelines(f"{line(number)}\n" for number in range(RECORDS))
    return file


_topics: dict[str, str] = {}


def filled(
    bench: Bench, kind: str, value: Callable[[int], str | bytes], partitions: int = 1, records: int = RECORDS
) -> str:
    """A topic of these records, filled once for a kind, with a thousand for one partition after another."""
    if kind not in _topics:
        _topics[kind] = topic = bench.topic(kind, partitions)
        with bench.broker.writing(linger_ms=50) as write:
            for number in range(records):
                write(topic, value(number), partition=number // 1000 % partitions)
    return _topics[kind]

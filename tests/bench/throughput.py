"""Rows about records: a million lines in, a million records out."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.sides import Bench, Refused, create
from tests.support import topics
from tests.support.broker import unique
from tests.support.connect import SINK, SOURCE, STRINGS, Connect
from tests.support.waiting import wait_until

RECORDS = 1_000_000
_FILLER = "abcdefghij" * 9
_JSON = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "true",
}
_TRANSFORMS = "org.apache.kafka.connect.transforms"
_SOURCE_SMTS = {
    "transforms": "hoist,insert,cast",
    "transforms.hoist.type": f"{_TRANSFORMS}.HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.insert.type": f"{_TRANSFORMS}.InsertField$Value",
    "transforms.insert.static.field": "origin",
    "transforms.insert.static.value": "bench",
    "transforms.cast.type": f"{_TRANSFORMS}.InsertField$Value",
    "transforms.cast.topic.field": "topic",
}
_SINK_SMTS = {
    "transforms": "insert,replace,extract",
    "transforms.insert.type": f"{_TRANSFORMS}.InsertField$Value",
    "transforms.insert.partition.field": "partition",
    "transforms.replace.type": f"{_TRANSFORMS}.ReplaceField$Value",
    "transforms.replace.exclude": "origin",
    "transforms.extract.type": f"{_TRANSFORMS}.ExtractField$Value",
    "transforms.extract.field": "line",
}


def source(bench: Bench, connect: Connect) -> float:
    """Lines a second, from the request that creates the connector to the last record in the topic."""
    return _source(bench, connect, STRINGS)


def source_smt(bench: Bench, connect: Connect) -> float:
    return _source(bench, connect, {**_JSON, **_SOURCE_SMTS})


def sink(bench: Bench, connect: Connect) -> float:
    """Records a second, from the first byte in the file to the last."""
    topic = _filled(bench, "strings", lambda number: f"{number:08d} {_FILLER}")
    return _sink(bench, connect, topic, STRINGS, _lines(bench).stat().st_size)


def sink_smt(bench: Bench, connect: Connect) -> float:
    fields = '{"field":"line","type":"string","optional":false},{"field":"origin","type":"string","optional":true}'
    schema = f'{{"type":"struct","optional":false,"fields":[{fields}]}}'
    topic = _filled(
        bench,
        "documents",
        lambda number: f'{{"schema":{schema},"payload":{{"line":"{number:08d} {_FILLER}","origin":"bench"}}}}',
    )
    return _sink(bench, connect, topic, {**_JSON, **_SINK_SMTS}, _lines(bench).stat().st_size)


def _source(bench: Bench, connect: Connect, settings: dict[str, str]) -> float:
    name, topic, lines = unique("source"), bench.topic(), _lines(bench)
    config = {"connector.class": SOURCE, "tasks.max": "1", "file": str(lines), "topic": topic, **settings}
    started = time.monotonic()
    create(connect, name, config)
    _until(connect, name, lambda: topics.count(bench.broker.bootstrap, topic) >= RECORDS)
    seconds = time.monotonic() - started
    connect.ask("DELETE", f"/connectors/{name}")
    bench.broker.delete_topics(topic)
    return RECORDS / seconds


def _sink(bench: Bench, connect: Connect, topic: str, settings: dict[str, str], size: int) -> float:
    name = unique("sink")
    out = bench.folder / f"{name}.txt"
    config = {"connector.class": SINK, "tasks.max": "1", "file": str(out), "topics": topic, **settings}
    create(connect, name, config)
    _until(connect, name, lambda: out.exists() and out.stat().st_size > 0, every=0.002)
    started = time.monotonic()
    _until(connect, name, lambda: out.stat().st_size >= size, every=0.005)
    seconds = time.monotonic() - started
    connect.ask("DELETE", f"/connectors/{name}")
    out.unlink()
    return RECORDS / seconds


def _until(connect: Connect, name: str, done: Callable[[], bool], every: float = 0.05) -> None:
    """Waits, and looks now and then whether the task has failed."""
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        try:
            wait_until(done, 5, every=every)
            return
        except AssertionError:
            if "FAILED" in connect.states(name)[1]:
                raise Refused(f"{name}: {connect.status(name)['tasks'][0].get('trace', '')[:300]}") from None
    raise Refused(f"{name} was not done after 180 s")


def _lines(bench: Bench) -> Path:
    """A million lines of 99 bytes, made once."""
    file = bench.folder / "lines.txt"
    if not file.exists():
        with file.open("w") as out:
            out.writelines(f"{number:08d} {_FILLER}\n" for number in range(RECORDS))
    return file


_topics: dict[str, str] = {}


def _filled(bench: Bench, kind: str, value: Callable[[int], str]) -> str:
    """A topic with a million records, made once."""
    if kind not in _topics:
        from confluent_kafka import Producer

        topic = bench.topic(kind)
        producer = Producer(
            {"bootstrap.servers": bench.broker.bootstrap, "linger.ms": 50, "queue.buffering.max.messages": RECORDS,
             "enable.idempotence": True}
        )  # fmt: skip
        for number in range(RECORDS):
            producer.produce(topic, value(number))
            if number % 10_000 == 0:
                producer.poll(0)
        assert producer.flush(120) == 0
        _topics[kind] = topic
    return _topics[kind]

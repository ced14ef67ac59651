"""Records through Apache's converters, and records that fail in them."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Message

from tests.contract.parity.names import (
    CONVERTERS,
    HOIST,
    JSON,
    KEYS_WITH_SCHEMAS,
    STRING,
    STRING_VALUES,
    VALUES_WITH_SCHEMAS,
    Transform,
    chain,
    sink_offset,
)
from tests.contract.parity.normalization import decoded
from tests.contract.parity.pipelines import Case, sinks, sources
from tests.contract.parity.recorder import Recorder, headers_of
from tests.contract.parity.registry import scenario

_STRING_KEYS = {"key.converter": STRING}
_TOLERANT = {"errors.tolerance": "all"}


@scenario("converters")
def conv_source(c: Recorder) -> None:
    key: Transform = ("k", "ValueToKey", {"fields": "line"})
    line_key = chain(HOIST, key, ("e", "ExtractField$Key", {"field": "line"}))
    sources(
        c,
        Case("json without schemas", ['a "quoted" ü'], {}, 1),
        Case("json with schemas", ["a"], {**VALUES_WITH_SCHEMAS, **KEYS_WITH_SCHEMAS}, 1),
        Case("json default is with schemas", ["a"], {"value.converter": JSON}, 1),
        Case("string", ['a "quoted" ü'], STRING_VALUES, 1),
        Case("string of struct", ["a"], {**STRING_VALUES, **chain(HOIST)}, 1),
        Case("string of null key", ["a"], {**STRING_VALUES, **_STRING_KEYS}, 1),
        Case("string key", ["a"], {**line_key, **_STRING_KEYS}, 1),
    )


@scenario("converters")
def conv_source_numeric(c: Recorder) -> None:
    def cast(spec: str, converter: str) -> dict[str, str]:
        return {**chain(("x", "Cast$Value", {"spec": spec})), "value.converter": CONVERTERS + converter}

    sources(
        c,
        Case("long", ["-2"], cast("int64", "LongConverter"), 1),
        Case("integer", ["258"], cast("int32", "IntegerConverter"), 1),
        Case("short", ["258"], cast("int16", "ShortConverter"), 1),
        Case("double", ["1.5"], cast("float64", "DoubleConverter"), 1),
        Case("float", ["1.5"], cast("float32", "FloatConverter"), 1),
        Case("boolean", ["true", "x"], cast("boolean", "BooleanConverter"), 2),
        Case("long wants int64", ["1"], cast("int32", "LongConverter"), 0, fails=True),
        Case("bytes wants bytes", ["1"], {"value.converter": CONVERTERS + "ByteArrayConverter"}, 0, fails=True),
    )


@scenario("converters")
def conv_sink_json(c: Recorder) -> None:
    scalars = ['"s"', "1", "1.5", "true", "null", "[1,2]", "1e3", "12345678901234"]
    envelope = '{"schema":{"type":"string"},"payload":"p"}'
    sinks(
        c,
        Case("scalars", scalars, {}, 8),
        Case("map", ['{"b": 1, "a": {"c": [1, {"d": null}]}}'], {}, 1),
        Case("null value", [None, '"x"'], {}, 2),
        Case("string", ["plain", '{"a":1}'], STRING_VALUES, 2),
        Case("envelope", [envelope, '{"schema":null,"payload":5}'], VALUES_WITH_SCHEMAS, 2),
        Case("envelope expected", ['"bare"'], VALUES_WITH_SCHEMAS, 0, fails=True),
        Case("envelope when schemas are off", [envelope], {}, 1),
        Case("malformed", ["{"], {}, 0, fails=True),
    )


def dead_letters(topic: str) -> dict[str, str]:
    """The configuration of a tolerant sink with a dead letter topic."""
    prefix = "errors.deadletterqueue"
    return {
        **_TOLERANT, f"{prefix}.topic.name": topic, f"{prefix}.topic.replication.factor": "1",
        f"{prefix}.context.headers.enable": "true",
    }  # fmt: skip


def without_traces(message: Message) -> list[list[Any]]:
    """The headers of a dead letter without its stack trace."""
    found = [(key, value and value.decode("utf-8", "replace")) for key, value in headers_of(message)]
    return [[key, "<trace>" if key.endswith("stacktrace") and value else value] for key, value in found]


@scenario("errors")
def dlq(c: Recorder) -> None:
    topic, letters = c.topic("t"), c.topic("dlq")
    c.produce(topic, ['"good"', ("k1", "{broken", [("own", b"1")]), '"better"', "{"])
    name = c.create("k", {**c.sink("k", topic), **dead_letters(letters), **_STRING_KEYS})
    c.lines("good lines", "k.out", 2)
    for number, message in enumerate(c.fetch(letters, 2)):
        data = {"key": decoded(message.key()), "value": decoded(message.value())}
        c.record_as("topic", f"DLQ message {number}", data)
        headers = without_traces(message)
        c.record(f"DLQ headers {number}: names", kind="derived", data=[key for key, _ in headers])
        c.record_as("derived", f"DLQ headers {number}", {"headers": headers})
    c.get("still running", f"/connectors/{name}/status")
    c.stop(name)
    c.group("all consumed", f"connect-{name}", [[topic, 0, 4]])


@scenario("errors")
def errors_none(c: Recorder) -> None:
    topic, file = c.topic("t"), c.folder / "k.out"
    c.produce(topic, ['"good"', "{broken", '"never"'])
    name = c.create("k", c.sink("k", topic), tasks=None)
    at = f"/connectors/{name}"
    c.wait_state(name, "RUNNING", ["FAILED"])
    c.gets(at, [("status", "/status"), ("task status", "/tasks/0/status")])
    c.get("expand=status", "/connectors?expand=status", project=lambda body: body.get(name))
    c.lines("nothing or the first", "k.out", 0)
    c.put(name, "stop", "skip the bad one: stop")
    c.wait_state(name, "STOPPED", [])
    c.request("skip the bad one: PATCH", "PATCH", f"{at}/offsets", {"offsets": [sink_offset(topic, 0, 2)]})
    c.resume(name)
    c.wait("wait last line", lambda: (file.exists() and "never" in file.read_text("utf-8"), None))


@scenario("errors")
def errors_all_without_dlq(c: Recorder) -> None:
    topic = c.topic("t")
    c.produce(topic, ['"a"', "{", '"b"', "x", '"c"'])
    logged = {**_TOLERANT, "errors.log.enable": "true", "errors.log.include.messages": "true"}
    name = c.create("k", {**c.sink("k", topic), **logged})
    c.lines("good ones", "k.out", 3)
    c.get("status", f"/connectors/{name}/status")
    c.stop(name)
    c.group("all consumed", f"connect-{name}", [[topic, 0, 5]])


@scenario("errors")
def errors_sink_key(c: Recorder) -> None:
    topic, letters = c.topic("t"), c.topic("dlq")
    c.produce(topic, [("{bad", '"v1"'), ("1", '"v2"'), (None, '"v3"')])
    c.create("k", {**c.sink("k", topic), **dead_letters(letters)})
    c.lines("two good ones", "k.out", 2)
    for message in c.fetch(letters, 1):
        c.record_as("derived", "headers", {"headers": without_traces(message)})
        c.record("message", kind="derived", data=[decoded(message.key()), decoded(message.value())])

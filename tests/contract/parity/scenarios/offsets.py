"""Offsets of sources and sinks: read, altered, reset, refused."""

from __future__ import annotations

from typing import Any

from tests.contract.parity.names import sink_offset
from tests.contract.parity.recorder import Recorder
from tests.contract.parity.registry import scenario

PLAIN_TEXT = {"Content-Type": "text/plain"}


def source_offset(c: Recorder, position: Any) -> dict[str, Any]:
    """An entry for the file `a.txt`; None resets."""
    return {"partition": c.partition(), "offset": None if position is None else {"position": position}}


def alter(c: Recorder, label: str, name: str, *entries: Any, **options: Any) -> None:
    c.request(label, "PATCH", f"/connectors/{name}/offsets", {"offsets": list(entries)}, **options)


def reset(c: Recorder, label: str, name: str) -> None:
    c.request(label, "DELETE", f"/connectors/{name}/offsets")


@scenario("offsets")
def offsets_get_source(c: Recorder) -> None:
    topic = c.topic("t")
    name = c.create("a", c.source("a", topic, ["one", "two", "three"]))
    at = f"/connectors/{name}/offsets"
    c.records("content", topic, 3)
    c.wait_offsets("offsets running", name, [source_offset(c, 14)])
    c.pause(name)
    c.get("offsets paused", at)
    c.stop(name)
    c.get("offsets stopped", at)
    new = c.create("n", c.source("n", topic, []), state="STOPPED")
    c.get("offsets of a new one", f"/connectors/{new}/offsets")


@scenario("offsets")
def offsets_patch_source(c: Recorder) -> None:
    topic = c.topic("t")
    name = c.create("a", c.source("a", topic, ["one", "two", "three"]))
    at = f"/connectors/{name}/offsets"
    c.records("content", topic, 3)
    c.stop(name)
    c.get("before", at)
    alter(c, "PATCH position 4", name, source_offset(c, 4))
    c.get("after", at)
    c.resume(name)
    c.records("two and three again", topic, 5)
    c.wait_offsets("offset at the end", name, [source_offset(c, 14)])
    c.stop(name)
    alter(c, "PATCH null", name, source_offset(c, None))
    c.get("after null", at)
    alter(c, "PATCH null again", name, source_offset(c, None))
    c.resume(name)
    c.records("all again", topic, 8)


@scenario("offsets")
def offsets_patch_source_invalid(c: Recorder) -> None:
    name = c.create("a", c.source("a", c.topic("t"), ["one"]), state="STOPPED")
    at, partition, offset = f"/connectors/{name}/offsets", c.partition(), {"position": 1}
    good = source_offset(c, 1)
    c.requests("PATCH", at, [
        ("empty object", {}), ("offsets null", {"offsets": None}), ("offsets empty", {"offsets": []}),
        ("offsets is an object", {"offsets": {}}), ("body is a list", []), ("unknown key", {"offsets": [good], "x": 1}),
    ])  # fmt: skip
    for label, *entries in (
        ("unknown key in the entry", {**good, "x": 1}),
        ("no partition", {"offset": offset}),
        ("partition null", {"partition": None, "offset": offset}),
        ("partition is a string", {"partition": "x", "offset": offset}),
        ("partition empty", {"partition": {}, "offset": offset}),
        ("no offset", {"partition": partition}),
        ("offset is a number", {"partition": partition, "offset": 5}),
        ("offset empty", {"partition": partition, "offset": {}}),
        ("wrong offset key", {"partition": partition, "offset": {"pos": 1}}),
        ("position is a string", source_offset(c, "1")),
        ("position is a float", source_offset(c, 1.5)),
        ("position is null", {"partition": partition, "offset": {"position": None}}),
        ("position negative", source_offset(c, -1)),
        ("position boolean", source_offset(c, True)),
        ("wrong partition key", {"partition": {"file": "x"}, "offset": offset}),
        ("one good, one bad", good, {"partition": {"filename": "x"}, "offset": {"position": -1}}),
        ("entry null", None),
    ):
        alter(c, label, name, *entries)
    c.raw_requests("PATCH", at, [("bad JSON", "{"), ("no body", "")])
    alter(c, "text/plain", name, good, headers=PLAIN_TEXT)
    c.get("nothing was changed", at)


@scenario("offsets")
def offsets_not_stopped(c: Recorder) -> None:
    topic = c.topic("t")
    name = c.create("a", c.source("a", topic, ["one"]))
    alter(c, "PATCH running", name, source_offset(c, 1))
    reset(c, "DELETE running", name)
    alter(c, "PATCH running, empty list", name)
    alter(c, "PATCH running, bad shape", name, source_offset(c, -1))
    c.pause(name)
    alter(c, "PATCH paused", name, source_offset(c, 1))
    reset(c, "DELETE paused", name)
    sink = c.create("k", c.sink("k", topic))
    alter(c, "PATCH running sink", sink, sink_offset(topic))
    reset(c, "DELETE running sink", sink)


@scenario("offsets")
def offsets_delete_source(c: Recorder) -> None:
    topic = c.topic("t")
    name = c.create("a", c.source("a", topic, ["one", "two"]))
    at = f"/connectors/{name}/offsets"
    c.records("content", topic, 2)
    c.stop(name)
    c.get("before", at)
    reset(c, "DELETE", name)
    c.get("after", at)
    reset(c, "DELETE again", name)
    c.resume(name)
    c.records("all again", topic, 4)
    c.wait_offsets("offset", name, [source_offset(c, 8)])
    reset(c, "DELETE of a new one", c.create("n", c.source("n", topic, []), state="STOPPED"))


@scenario("offsets")
def offsets_get_sink(c: Recorder) -> None:
    topic = c.topic("t", 2)
    for partition in (0, 1):
        c.produce(topic, ['"a"', '"b"'], partition)
    name = c.create("k", c.sink("k", topic))
    c.lines("lines", "k.out", 4, in_order=False)
    c.pause(name)
    c.wait_offsets("offsets paused", name, [sink_offset(topic, 0, 2), sink_offset(topic, 1, 2)])
    c.stop(name)
    c.get("offsets stopped", f"/connectors/{name}/offsets")
    new = c.create("n", c.sink("n", topic), state="STOPPED")
    c.get("offsets of a new one", f"/connectors/{new}/offsets")


@scenario("offsets")
def offsets_patch_sink(c: Recorder) -> None:
    topic = c.topic("t", 2)
    for partition in (0, 1):
        c.produce(topic, [f'"p{partition}-{number}"' for number in range(4)], partition)
    name = c.create("k", c.sink("k", topic))
    at, group = f"/connectors/{name}/offsets", f"connect-{name}"
    c.lines("lines", "k.out", 8, in_order=False)
    c.stop(name)
    c.group("group before", group, [[topic, 0, 4], [topic, 1, 4]])
    alter(c, "PATCH partition 0", name, sink_offset(topic, 0, 2))
    c.get("offsets", at)
    c.group("group", group)
    alter(c, "strings for numbers", name, sink_offset(topic, "1", "3"))
    c.group("group 2", group)
    c.resume(name)
    c.lines("three lines again", "k.out", 11, in_order=False)
    c.stop(name)
    alter(c, "null for partition 0", name, sink_offset(topic, 0, None))
    c.get("offsets without partition 0", at)
    alter(c, "null again", name, sink_offset(topic, 0, None))
    c.resume(name)
    c.lines("partition 0 again", "k.out", 15, in_order=False)


@scenario("offsets")
def offsets_patch_sink_invalid(c: Recorder) -> None:
    topic = c.topic("t", 2)
    c.produce(topic, ['"a"', '"b"', '"c"'], 0)
    name = c.create("k", c.sink("k", topic))
    c.lines("lines", "k.out", 3)
    c.stop(name)
    partition, offset = {"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": 1}
    for label, *entries in (
        ("empty list",),
        ("no kafka_topic", {"partition": {"kafka_partition": 0}, "offset": offset}),
        ("no kafka_partition", {"partition": {"kafka_topic": topic}, "offset": offset}),
        ("topic null", sink_offset(None, 0, 1)),
        ("partition number null", sink_offset(topic, None, 1)),
        ("partition null", {"partition": None, "offset": offset}),
        ("partition missing", {"offset": offset}),
        ("partition number is text", sink_offset(topic, "x", 1)),
        ("partition number is a float", sink_offset(topic, 0.5, 1)),
        ("partition number negative", sink_offset(topic, -1, 1)),
        ("offset is text", sink_offset(topic, 0, "x")),
        ("offset is a float", sink_offset(topic, 0, 1.5)),
        ("offset number null", {"partition": partition, "offset": {"kafka_offset": None}}),
        ("offset without its key", {"partition": partition, "offset": {"position": 1}}),
        ("offset empty", {"partition": partition, "offset": {}}),
        ("wrong partition keys", {"partition": {"topic": topic, "partition": 0}, "offset": offset}),
    ):
        alter(c, str(label), name, *entries)
    c.get("nothing was changed", f"/connectors/{name}/offsets")


@scenario("offsets")
def offsets_delete_sink(c: Recorder) -> None:
    topic = c.topic("t")
    c.produce(topic, ['"a"', '"b"'])
    name = c.create("k", c.sink("k", topic))
    group = f"connect-{name}"
    c.lines("lines", "k.out", 2)
    c.stop(name)
    c.group("group before", group, [[topic, 0, 2]])
    reset(c, "DELETE", name)
    c.get("offsets", f"/connectors/{name}/offsets")
    c.group("group after", group, [])
    reset(c, "DELETE again", name)
    c.resume(name)
    c.lines("lines again", "k.out", 4)

"""Records of the storage topics, and the topics themselves."""

from __future__ import annotations

import json
import time
from typing import Any

from tests.contract.parity.recorder import Recorder, Topic
from tests.contract.parity.registry import scenario


def stored(c: Recorder, kind: Topic) -> list[tuple[str, str | None]]:
    """The records of a storage topic whose keys name this scenario."""
    messages = c.fetch(c.target.topics[kind], 10**9, seconds=2.5)
    records = [((message.key() or b"").decode("utf-8", "replace"), message.value()) for message in messages]
    return [(key, None if value is None else value.decode()) for key, value in records if c.id in key]


@scenario("storage")
def storage_config(c: Recorder) -> None:
    name = c.create("k", {**c.sink("k", c.topic("t", 2)), "tasks.max": "2"}, tasks=2)
    at = f"/connectors/{name}"
    c.pause(name, ["PAUSED"] * 2)
    c.resume(name, 2)
    c.request("restart", "POST", f"{at}/restart?includeTasks=true")
    time.sleep(1.0)
    c.wait_running(name, 2)
    c.stop(name)
    c.resume(name, 2)
    c.request("reconfigure", "PATCH", f"{at}/config", {"tasks.max": "1"})
    c.wait_running(name)
    c.request("delete", "DELETE", at)
    c.wait_gone(name)
    records: list[tuple[str, Any]] = [(key, value and json.loads(value)) for key, value in stored(c, "config")]
    c.record_as("storage", "keys in order", [key for key, _ in records])
    for number, record in enumerate(records):
        c.record_as("storage", f"record {number}", list(record))


@scenario("storage")
def storage_offsets(c: Recorder) -> None:
    topic = c.topic("t")
    name = c.create("a", c.source("a", topic, ["one", "two"]))
    c.records("content", topic, 2)
    c.stop(name)
    other = {"partition": {"x": "ü", "n": 1, "a": None}, "offset": None}
    for label, offset, more in (("PATCH", {"position": 4}, [other]), ("PATCH null", None, [])):
        offsets = [{"partition": c.partition(), "offset": offset}, *more]
        c.request(label, "PATCH", f"/connectors/{name}/offsets", {"offsets": offsets})
    records = stored(c, "offset")
    changes = [list(record) for number, record in enumerate(records) if not number or records[number - 1] != record]
    c.record_as("storage", "raw keys and values", [change for change in changes if "filename" in str(change[0])])
    c.record_as("storage", "other partition", [change for change in changes if "filename" not in str(change[0])])


@scenario("storage")
def storage_topics(c: Recorder) -> None:
    kinds: tuple[Topic, ...] = ("config", "offset", "status")
    for kind in kinds:
        topic = c.target.topics[kind]
        is_one = len(c.kafka.partitions(topic)) == 1
        data = {"one partition": is_one, "cleanup.policy": c.kafka.cleanup_policy(topic)}
        c.record(f"{kind}_topic", kind="derived", data=data)

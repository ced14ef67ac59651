"""Previews and error counts of a real worker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, STRINGS, Connect, dead_letters
from tests.support.kafka import topics
from tests.support.waiting import wait_until

TRANSFORMS = "org.apache.kafka.connect.transforms."
MASK = {"transforms": "mask", "transforms.mask.type": f"{TRANSFORMS}MaskField$Value", "transforms.mask.fields": "ssn"}
SECRET = "correct-horse-battery"


@pytest.fixture
def sink(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> tuple[str, str]:
    """A sink that tolerates errors, and its topic, in which nine of ten records are good."""
    name, topic = unique("sink"), broker.create_topic(partitions=2)
    for partition in (0, 1):
        values = [b"{" if n == 7 else b'{"n":%d,"ssn":"1-2-%d"}' % (n, n) for n in range(10)]
        broker.produce(topic, *values, partition=partition)
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(tmp_path / "out"), **STRINGS}
    connect.create(name, {**config, **JSON_VALUES, **dead_letters(f"{topic}-letters")})
    return name, topic


def preview(connect: Connect, name: str, **body: Any) -> dict[str, Any]:
    found: dict[str, Any] = connect.ask("POST", f"/connectors/{name}/preview", body)
    return found


def test_a_changed_chain_is_previewed_on_the_newest_records_of_a_sink(connect: Connect, sink: tuple[str, str]) -> None:
    name, topic = sink
    before = connect.ask("GET", f"/connectors/{name}/config")
    found = preview(connect, name, config=MASK, last=8)
    assert found["summary"]["records"] == 8
    assert found["summary"]["dead_letter"] <= 2
    assert found["summary"]["differs"] == found["summary"]["changed"] > 0
    changed = next(r for r in found["records"] if r["result"] == "CHANGED")
    assert changed["kafka"]["topic"] == topic
    assert json.loads(changed["kafka"]["value"])["ssn"].startswith("1-2-")
    assert changed["differs"][0]["at"] == "record.value.ssn"
    assert changed["after"]["value"]["ssn"] == ""
    assert connect.ask("GET", f"/connectors/{name}/config") == before


def test_failed_records_are_counted_by_stage(connect: Connect, sink: tuple[str, str]) -> None:
    name, topic = sink
    path = f"/connectors/{name}/errors"
    wait_until(lambda: connect.ask("GET", path)["total"]["failed"] == 2, 60)
    found = connect.ask("GET", path)
    assert found["stages"] == {"VALUE_CONVERTER": {"failed": 2, "skipped": 2, "retries": 0, "dead_letters": 2}}
    assert {(e["topic"], e["offset"], e["stage"]) for e in found["last"]} == {(topic, 7, "VALUE_CONVERTER")}
    connect.ask("POST", f"/connectors/{name}/tasks/0/restart")
    assert connect.ask("GET", path)["total"]["failed"] == 2
    connect.ask("DELETE", f"/connectors/{name}")
    assert connect.request("GET", path)[0] == 404


def test_a_source_is_previewed_on_its_produced_and_on_given_records(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    name, topic, file = unique("source"), broker.create_topic(), tmp_path / "in"
    file.write_text("a\nb\n")
    hoist = {"transforms": "h", "transforms.h.type": f"{TRANSFORMS}HoistField$Value", "transforms.h.field": "line"}
    connect.source(name, str(file), topic)
    wait_until(lambda: topic in connect.ask("GET", f"/connectors/{name}/topics")[name]["topics"], 30)
    wait_until(lambda: topics.count(broker.bootstrap, topic) == 2, 30)
    found = preview(connect, name, config=hoist)
    assert [r["kafka"]["value"] for r in found["records"]] == ["Struct{line=a}", "Struct{line=b}"]
    assert [r["now"]["after"]["value"] for r in found["records"]] == ["a", "b"]
    (given,) = preview(connect, name, config={**hoist, **JSON_VALUES}, records=[{"value": "x", "headers": {"h": 1}}])[
        "records"
    ]
    assert (given["kafka"]["value"], given["kafka"]["headers"]) == ('{"line":"x"}', {"h": "1"})
    assert topics.count(broker.bootstrap, topic) == 2


def test_previews_of_a_connector_that_does_not_exist_hide_its_secrets(connect: Connect) -> None:
    misbehaving = {"type": "headrace_test_transforms.Misbehaving", "how": "tell", "secret.password": SECRET}
    config = {"topics": "t", "transforms": "m", **{f"transforms.m.{key}": text for key, text in misbehaving.items()}}
    body = {"config": {**config, **STRINGS}, "records": ["a"]}
    found = connect.ask("POST", "/connector-plugins/FileStreamSink/preview", body)
    assert found["records"][0]["by"] == "m: logging in with [hidden]"
    assert SECRET not in json.dumps(found)
    blocked = {**body, "config": {**body["config"], "transforms.m.how": "kill"}}  # type: ignore[dict-item]
    code, refusal = connect.request("POST", "/connector-plugins/FileStreamSink/preview", blocked)
    assert code == 422
    assert "died (exit code 7) in transforms.m" in refusal["message"]


REFUSED = [
    ({"what": 1}, "unknown field 'what'"),
    ({"last": 0}, "'last' must be a whole number from 1 to 100, not 0"),
    ({"last": 2**70}, "'last' must be a whole number from 1 to 100, not 1180591620717411303424"),
    ({"records": [{"offset": 2**70}]}, "A sample cannot be passed to the preview: Integer exceeds 64-bit range"),
    ({"last": 1, "records": ["a"]}, "'records' and 'last' exclude each other"),
    ({"records": []}, "at least one record"),
    ({"records": [{"v": 1}]}, "records[0] has the unknown field 'v'"),
    ({"records": [{"key": 1, "key_base64": "AA=="}]}, "records[0] has both 'key' and 'key_base64'"),
    ({"records": ["a", {"value_base64": "?"}]}, "records[1].value_base64 is not base64"),
    ({"records": [{"headers": [1]}]}, "records[0].headers must be"),
    ({"topics": "t"}, "'topics' must be an array of strings"),
    ({"config": {"transforms": "x"}}, "transforms.x.type: Missing required configuration"),
    ({"config": {"transforms": "x", "transforms.x.type": "Nope"}}, "transforms.x.type: Invalid value Nope"),
    ({"config": {"value.converter": "Nope"}}, "value.converter: "),
    ({"config": {"consumer.override.fetch.min.bytes": "x"}}, "consumer.override.fetch.min.bytes: "),
    ({"topics": ["there-is-no-such-topic"]}, "The connector's topics have no records to sample"),
]


def test_refused_previews_name_the_mistake(connect: Connect, sink: tuple[str, str]) -> None:
    for body, message in REFUSED:
        code, answer = connect.request("POST", f"/connectors/{sink[0]}/preview", body)
        assert (code, message in answer.get("message", "")) == (400, True), (body, answer)
    assert connect.request("POST", "/connectors/nobody/preview", {})[0] == 404

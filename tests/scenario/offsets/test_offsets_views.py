"""Our worker's views of offsets beyond Apache's API: progress, history, offsets by timestamp."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import SINK, STRINGS, Connect
from tests.support.kafka import topics
from tests.support.plugins import PLUGINS
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

HOUR = 3_600_000


def test_lag_of_a_sink_and_age_of_a_source(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    now = int(time.time() * 1000)
    name, topic = _stopped_sink(connect, broker, tmp_path, [now - 3 * HOUR, now - 2 * HOUR, now - HOUR])
    connect.alter(name, (_at(topic, 0), {"kafka_offset": 1}), (_at(topic, 1), {"kafka_offset": 3}))

    def detail() -> Any:
        found = connect.ask("GET", f"/connectors/{name}/offsets?detail=true")["offsets"]
        return found if found[0]["lag"]["ms"] is not None else None  # the record was not read within the time limit

    behind, done = wait_until(detail)
    assert (behind["partition"], behind["offset"], behind["end"]) == (_at(topic, 0), {"kafka_offset": 1}, 3)
    assert behind["lag"]["records"] == 2
    assert 2 * HOUR <= behind["lag"]["ms"] < 2 * HOUR + 60_000
    assert done["lag"] == {"records": 0, "ms": 0}
    connect.create("src", _counting(topic), initial_state="STOPPED")
    connect.alter("src", ({"counter": "x"}, {"n": 1}))
    (entry,) = connect.ask("GET", "/connectors/src/offsets?detail=true")["offsets"]
    assert (entry["partition"], entry["offset"]) == ({"counter": "x"}, {"n": 1})
    assert 0 <= entry["age_ms"] < 60_000


def test_a_timestamp_resolves_to_offsets_that_patch_accepts(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    now = int(time.time() * 1000)
    name, topic = _stopped_sink(connect, broker, tmp_path, [now - 3 * HOUR, now - 2 * HOUR, now - HOUR])
    connect.alter(name, (_at(topic, 0), {"kafka_offset": 2}), (_at(topic, 1), {"kafka_offset": 1}))

    def resolve(body: Any) -> tuple[list[int], int, int]:
        answer = connect.ask("POST", f"/connectors/{name}/offsets/resolve", body)
        return [e["offset"]["kafka_offset"] for e in answer["offsets"]], answer["reread"], answer["skipped"]

    assert resolve({"to": "earliest"}) == ([0, 0], 3, 0)
    assert resolve({"to": "latest"}) == ([3, 3], 0, 3)
    assert resolve({"to": "2h30m"}) == ([1, 1], 1, 0)
    assert resolve({"to": "-1"}) == ([1, 0], 2, 0)
    assert resolve({"to": "+100"}) == ([3, 3], 0, 3)
    assert resolve({"to": 0, "kafka_topic": topic, "kafka_partition": 1}) == ([0], 1, 0)
    assert resolve({"targets": [{"to": "latest"}, {"to": "earliest", "kafka_topic": topic, "kafka_partition": 1}]}) == (
        [3, 0], 1, 1
    )  # fmt: skip
    answer = connect.ask("POST", f"/connectors/{name}/offsets/resolve", {"to": "earliest"})
    connect.ask("PATCH", f"/connectors/{name}/offsets", {"offsets": answer["offsets"]})
    assert connect.offsets(name) == answer["offsets"]
    nowhere = {"to": 1, "kafka_topic": "nowhere-to-go"}
    refused: list[dict[str, Any]] = [{}, {"to": "soon"}, {"to": 1, "more": 2}, {"targets": []}, nowhere]
    for bad in refused:
        assert connect.request("POST", f"/connectors/{name}/offsets/resolve", bad)[0] == 400


def test_a_regular_expression_cannot_stop_the_worker(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    """Against a topic of sixty a's the expression needs more time than anybody has."""
    broker.create_topic("a" * 60)
    config = {"connector.class": SINK, "topics.regex": "(a|a)+b", "file": str(tmp_path / "out.txt"), **STRINGS}
    connect.create("busy", config, initial_state="STOPPED")
    status, answer = connect.request("POST", "/connectors/busy/offsets/resolve", {"to": "earliest"})
    assert status == 400 and "(a|a)+b takes too long for aaaa" in answer["message"]
    assert connect.ask("GET", "/health")["status"] == "healthy"


def test_offsets_of_deleted_connectors_and_the_history_of_changes_survive_the_worker(
    worker: StartWorker, broker: KafkaBroker, tmp_path: Path
) -> None:
    process = worker({"plugin.path": PLUGINS})
    connect, file, topic = Connect(process), tmp_path / "in.txt", broker.create_topic()
    file.write_text("one\ntwo\n")
    connect.source("src", str(file), topic)
    wait_until(lambda: topics.count(broker.bootstrap, topic) == 2)
    connect.ask("DELETE", "/connectors/src")
    connect.create("c", _counting("t"), initial_state="STOPPED")
    for n in range(25):
        connect.alter("c", ({"counter": "t"}, {"n": n}))
    connect.ask("DELETE", "/connectors/c/offsets")
    process.restart()
    file.write_text("one\ntwo\nthree\n")
    connect.source("src", str(file), topic)
    assert topics.values(broker.bootstrap, topic, 3) == [b"one", b"two", b"three"]
    history = connect.ask("GET", "/connectors/c/offsets/history")["history"]
    assert [past["number"] for past in history] == list(range(26, 6, -1))
    newest, before = history[:2]
    entry = {"partition": {"counter": "t"}, "offset": {"n": 24}}
    assert (newest["action"], newest["before"], newest["after"]) == ("reset", [entry], [{**entry, "offset": None}])
    assert (before["action"], before["after"]) == ("alter", [entry])
    assert before["who"] == "127.0.0.1"


def test_offsets_that_cannot_be_stored_are_refused_with_400(connect: Connect) -> None:
    connect.create("c", _counting("t"), initial_state="STOPPED")
    good = {"a": [1, {"ü": None}], "i": -(2**63), "j": 2**63 - 1, "f": 1.5e300, "z": -0.0, "e": "😀", "t": True}
    connect.alter("c", (good, good))
    assert connect.offsets("c") == [{"partition": good, "offset": good}]
    for bad in ({"n": 2**63}, {"n": -(2**63) - 1}, {"n": "\ud800"}, {"\udfff": 1}):
        entry = {"partition": {"a": 1}, "offset": bad}
        assert connect.request("PATCH", "/connectors/c/offsets", {"offsets": [entry]})[0] == 400


def _stopped_sink(connect: Connect, broker: KafkaBroker, folder: Path, times: list[int]) -> tuple[str, str]:
    """The sink's name, and its topic of two partitions with a record at each of the times."""
    name, topic = unique("snk"), broker.create_topic(partitions=2)
    with broker.writing() as write:
        for partition in (0, 1):
            for moment in times:
                write(topic, b"x", partition=partition, timestamp=moment)
    config = {"connector.class": SINK, "file": str(folder / "out.txt"), "topics": topic, **STRINGS}
    connect.create(name, config, initial_state="STOPPED")
    wait_until(lambda: connect.states(name) == ("STOPPED", []))
    return name, topic


def _counting(topic: str) -> dict[str, str]:
    return {"connector.class": "headrace_test_plugins.CountingConnector", "topic": topic, "tasks.max": "1", **STRINGS}


def _at(topic: str, partition: int) -> dict[str, Any]:
    return {"kafka_partition": partition, "kafka_topic": topic}

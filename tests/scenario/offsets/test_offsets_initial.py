"""Initial offsets of a connector (KIP-995's test plan), and deletion with offsets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import SINK, SOURCE, STRINGS, Connect
from tests.support.kafka import topics
from tests.support.waiting import wait_until

DEFINITE = "The offsets for this connector have been set successfully"
POSSIBLE = (
    "The framework-managed offsets for this connector have been set successfully. However, if this connector manages "
    "offsets externally, they will need to be manually set in the system that the connector uses."
)


def _post(connect: Connect, name: str, config: dict[str, str], offsets: Any, **more: Any) -> tuple[int, Any]:
    body = {"name": name, "config": config, "initial_offsets": offsets, **more}
    return connect.request("POST", "/connectors", body)


def _entry(partition: dict[str, Any], offset: dict[str, Any] | None) -> dict[str, Any]:
    return {"partition": partition, "offset": offset}


def _file_source(file: Path, topic: str) -> dict[str, str]:
    return {"connector.class": SOURCE, "file": str(file), "topic": topic, "tasks.max": "1", **STRINGS}


def _counting(topic: str, cls: str = "CountingConnector") -> dict[str, str]:
    return {"connector.class": f"headrace_test_plugins.{cls}", "topic": topic, "tasks.max": "1", **STRINGS}


def test_create_connector_with_initial_offsets_in_distributed_mode(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    file, topic = tmp_path / "in.txt", broker.create_topic()
    file.write_text("one\ntwo\nthree\n")
    config = _file_source(file, topic)
    status, answer = _post(connect, "src", config, [_entry({"filename": str(file)}, {"position": 4})])
    assert status == 200
    assert list(answer) == ["name", "config", "tasks", "type", "initial_offsets_response"]
    assert (answer["name"], answer["config"]) == ("src", {**config, "name": "src"})
    assert answer["initial_offsets_response"] == DEFINITE
    connect.wait("src", "RUNNING", ["RUNNING"])
    assert topics.values(broker.bootstrap, topic, 2) == [b"two", b"three"]


def test_create_connector_with_initial_state_and_initial_offsets_in_distributed_mode(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    file, topic = tmp_path / "in.txt", broker.create_topic()
    file.write_text("one\ntwo\n")
    entry = _entry({"filename": str(file)}, {"position": 4})
    assert _post(connect, "src", _file_source(file, topic), [entry], initial_state="STOPPED")[0] == 200
    connect.wait("src", "STOPPED", [])
    assert connect.offsets("src") == [entry]
    connect.resume("src")
    assert topics.values(broker.bootstrap, topic, 1) == [b"two"]


def test_possible_success_is_worded_as_in_the_kip(connect: Connect, broker: KafkaBroker, topic: str) -> None:
    status, answer = _post(connect, "c", _counting(topic), [_entry({"counter": topic}, {"n": 7})])
    assert (status, answer["initial_offsets_response"]) == (200, POSSIBLE)
    assert topics.values(broker.bootstrap, topic, 1) == [b"7"]


def test_initial_offsets_of_a_sink(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    topic, out, name = broker.create_topic(), tmp_path / "out.txt", unique("snk")
    broker.produce(topic, *map(str, range(5)))
    config = {"connector.class": SINK, "file": str(out), "topics": topic, **STRINGS}
    at = {"kafka_topic": topic, "kafka_partition": 0}
    assert _post(connect, name, config, [_entry(at, {"kafka_offset": 3})])[0] == 200
    wait_until(lambda: out.exists() and len(out.read_text().splitlines()) >= 2)
    assert out.read_text().splitlines()[:2] == ["3", "4"], "a consumer that is too slow for its group repeats them"
    status, answer = _post(connect, unique("snk"), config, [_entry({**at, "kafka_partition": 9}, {"kafka_offset": 3})])
    assert status == 400
    assert "step 'validate offsets'" in answer["message"]


def test_earlier_offsets_of_the_same_name_are_removed(connect: Connect, topic: str) -> None:
    many = [_entry({"counter": c}, {"n": 2}) for c in ("a", "b", "c")]
    assert _post(connect, "c", _counting(topic), many, initial_state="STOPPED")[0] == 200
    connect.ask("DELETE", "/connectors/c")
    one = [_entry({"counter": "d"}, {"n": 4})]
    assert _post(connect, "c", _counting(topic), one, initial_state="STOPPED")[0] == 200
    assert connect.offsets("c") == one


@pytest.mark.parametrize(
    "offsets", [{}, "x", [], [1], [{"partition": 1}], [{"partition": {}, "offset": []}], [{"offsets": []}], [{"o": 1}]]
)
def test_a_wrong_format_is_refused_with_400(connect: Connect, broker: KafkaBroker, offsets: Any) -> None:
    status, answer = _post(connect, "c", _counting("t"), offsets)
    assert status == 400
    assert "initial_offsets" in answer["message"]
    assert "c" not in connect.ask("GET", "/connectors")


def test_failed_creations_name_their_step_and_leave_nothing_behind(connect: Connect, topic: str) -> None:
    entry = _entry({"counter": topic}, {"n": 3})
    status, answer = _post(connect, "c", {**_counting(topic), "tasks.max": "none"}, [entry])
    assert status == 400
    assert "step 'validate connector config'" in answer["message"]
    status, answer = _post(connect, "c", _counting(topic, "PickyOffsetsConnector"), [entry])
    assert status == 400
    assert "step 'validate offsets'" in answer["message"]
    assert "only even numbers are accepted" in answer["message"]
    status, answer = _post(connect, "c", _counting(topic, "FixedOffsetsConnector"), [entry])
    assert status == 400
    assert "these offsets cannot be altered" in answer["message"]
    assert "c" not in connect.ask("GET", "/connectors")
    connect.create("c", _counting(topic), initial_state="STOPPED")
    assert connect.offsets("c") == []


def test_a_failed_wipe_of_a_group_in_use_creates_nothing(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    from confluent_kafka import Consumer

    topic, name = broker.create_topic(), unique("snk")
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": f"connect-{name}"})
    consumer.subscribe([topic])
    wait_until(lambda: consumer.poll(0.1) is None and consumer.assignment())
    config = {"connector.class": SINK, "file": str(tmp_path / "o"), "topics": topic, **STRINGS}
    entry = _entry({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": 0})
    status, answer = _post(connect, name, config, [entry])
    consumer.close()
    assert status == 400
    assert "step 'wipe existing offsets'" in answer["message"]
    assert name not in connect.ask("GET", "/connectors")
    assert _post(connect, name, config, [entry], initial_state="STOPPED")[0] == 200


def test_only_one_of_two_concurrent_creations_succeeds(connect: Connect, broker: KafkaBroker) -> None:
    for round_ in range(5):
        name, topic = f"c{round_}", broker.create_topic()
        bodies = [
            ({**_counting(topic), "who": who}, [_entry({"counter": who}, {"n": 1})]) for who in ("first", "second")
        ]
        with ThreadPoolExecutor(2) as pool:
            answers = list(
                pool.map(lambda b: _post(connect, name, *b, initial_state="STOPPED"), bodies)  # noqa: B023
            )
        assert sorted(status for status, _ in answers) == [200, 409]
        winner = connect.ask("GET", f"/connectors/{name}/config")["who"]
        assert connect.offsets(name) == [_entry({"counter": winner}, {"n": 1})]


def test_only_one_of_two_concurrent_creations_with_and_without_offsets_succeeds(
    connect: Connect, broker: KafkaBroker
) -> None:
    """The race that the KIP describes."""
    for round_ in range(6):
        name, topic = f"c{round_}", broker.create_topic()
        given: list[dict[str, Any]] = [{"initial_offsets": [_entry({"counter": "x"}, {"n": 1})]}, {}]
        bodies = [
            {"name": name, "config": {**_counting(topic), "who": str(i)}, "initial_state": "STOPPED", **more}
            for i, more in enumerate(given)
        ]
        with ThreadPoolExecutor(2) as pool:
            ordered = bodies if round_ % 2 else bodies[::-1]
            answers = list(pool.map(lambda body: connect.request("POST", "/connectors", body), ordered))
        winner = int(connect.ask("GET", f"/connectors/{name}/config")["who"])
        assert sorted(status for status, _ in answers) == [(200, 201)[winner], 409]
        assert connect.offsets(name) == given[winner].get("initial_offsets", [])


def test_put_config_refuses_initial_offsets(connect: Connect) -> None:
    body = {**_counting("t"), "initial_offsets": [_entry({"counter": "t"}, {"n": 1})]}
    status, answer = connect.request("PUT", "/connectors/c/config", body)
    assert status == 400
    assert "POST /connectors" in answer["message"]


def test_deleting_with_offsets(connect: Connect, topic: str) -> None:
    connect.create("c", _counting(topic))
    connect.wait("c", "RUNNING", ["RUNNING"])
    wait_until(lambda: connect.offsets("c"))
    answer = connect.ask("DELETE", "/connectors/c?offsets=true")
    assert answer["message"].startswith("The connector c has been deleted. The Connect framework-managed offsets")
    assert connect.request("GET", "/connectors/c")[0] == 404
    connect.create("c", _counting(topic), initial_state="STOPPED")
    assert connect.offsets("c") == []
    assert connect.request("DELETE", "/connectors/none?offsets=true")[0] == 404


def test_a_connector_that_refuses_is_not_deleted_and_continues(connect: Connect, topic: str) -> None:
    connect.create("c", _counting(topic, "FixedOffsetsConnector"))
    connect.wait("c", "RUNNING", ["RUNNING"])
    wait_until(lambda: connect.offsets("c"))
    assert connect.request("DELETE", "/connectors/c?offsets=true")[0] == 400
    connect.wait("c", "RUNNING", ["RUNNING"])
    assert connect.offsets("c")


def test_offsets_of_deleted_connectors_are_listed(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    topic, snk = broker.create_topic(), unique("snk")
    two = [_entry({"counter": c}, {"n": 2}) for c in ("a", "b")]
    config = {"connector.class": SINK, "file": str(tmp_path / "o"), "topics": topic, **STRINGS}
    committed = [_entry({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": 0})]
    assert _post(connect, "gone", _counting(topic), two, initial_state="STOPPED")[0] == 200
    assert _post(connect, "here", _counting(topic), two, initial_state="STOPPED")[0] == 200
    assert _post(connect, snk, config, committed, initial_state="STOPPED")[0] == 200
    for name in ("gone", snk):
        connect.ask("DELETE", f"/connectors/{name}")
    found = connect.ask("GET", "/orphaned-offsets")
    assert {"connector": "gone", "partitions": 2} in found["sources"]
    assert {"connector": snk, "group": f"connect-{snk}", "partitions": 1} in found["sinks"]
    assert connect.request("DELETE", "/orphaned-offsets/here")[0] == 409
    assert connect.request("DELETE", f"/orphaned-offsets/{snk}?group=connect-nobody-{snk}")[0] == 409
    assert connect.request("DELETE", f"/orphaned-offsets/{snk}")[0] == 404  # no source offsets
    connect.ask("DELETE", "/orphaned-offsets/gone")
    connect.ask("DELETE", f"/orphaned-offsets/{snk}?group=connect-{snk}")
    found = connect.ask("GET", "/orphaned-offsets")
    assert not {"gone", snk} & {orphan["connector"] for orphan in (*found["sources"], *found["sinks"])}
    assert connect.ask("GET", "/connectors/gone/offsets/history")["history"][0]["action"] == "reset"
    connect.create("gone", _counting(topic), initial_state="STOPPED")
    assert connect.offsets("gone") == []
    assert len(connect.offsets("here")) == 2


def test_initial_offsets_of_a_connector_with_an_offset_topic_of_its_own(connect: Connect, broker: KafkaBroker) -> None:
    topic, own = broker.create_topic(), broker.create_topic(cleanup_policy="compact")
    config = {**_counting(topic), "offsets.storage.topic": own}
    old, new = [_entry({"counter": c}, {"n": 1}) for c in ("old", topic)], [_entry({"counter": topic}, {"n": 5})]
    assert _post(connect, "c", config, old, initial_state="STOPPED")[0] == 200
    assert _sorted(connect.offsets("c")) == _sorted(old)
    connect.ask("DELETE", "/connectors/c")
    assert _post(connect, "c", config, new)[0] == 200
    assert topics.values(broker.bootstrap, topic, 1, 150) == [b"5"]
    connect.stop("c")
    assert [e["partition"] for e in connect.offsets("c")] == [{"counter": topic}]
    connect.ask("DELETE", "/connectors/c?offsets=true")
    connect.create("c", config, initial_state="STOPPED")
    assert connect.offsets("c") == []
    connect.ask("DELETE", "/connectors/c")
    connect.create("c", _counting(topic), initial_state="STOPPED")
    assert connect.offsets("c") == []


def _sorted(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(entries, key=lambda entry: str(entry["partition"]))

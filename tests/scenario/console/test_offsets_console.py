"""Seeking by time, history, undo and rollback as an operator types them, with our worker."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.console.script_console import Console
from tests.support.waiting import wait_until


def test_a_running_sink_is_set_to_an_earlier_time(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    console, name = Console(connect.worker.url, tmp_path), unique("snk")
    topic, out = broker.create_topic(), tmp_path / "out.txt"
    broker.produce(topic, *map(str, range(5)))
    connect.sink(name, str(out), topic)
    wait_until(lambda: out.exists() and out.read_text().count("\n") == 5)
    wait_until(lambda: [e["offset"] for e in connect.offsets(name)] == [{"kafka_offset": 5}])
    shown = console(f"patch offsets {name} --to -2 --dry-run", code=4)
    assert f"would set {topic}-0: offset 5 → offset 3, 2 read again" in shown.out + shown.err
    assert "the connector is RUNNING" in shown.err, "a dry run reports the refusal"
    assert f"{topic}-0" in console(f"patch offsets {name} --to -2 --dry-run --stop").err
    assert console(f"patch offsets {name} --to -2", code=4).err.count("STOPPED") >= 1
    console(f"patch offsets {name} --to -2 --stop")
    connect.wait(name, "RUNNING", ["RUNNING"])
    wait_until(lambda: out.read_text().splitlines()[5:] == ["3", "4"])


def test_history_undo_and_rollback(connect: Connect, tmp_path: Path) -> None:
    console, name = Console(connect.worker.url, tmp_path), unique("c")
    config = {"connector.class": "headrace_test_plugins.CountingConnector", "topic": "t", "tasks.max": "1", **STRINGS}
    connect.create(name, config, initial_state="STOPPED")
    console(f"undo {name}", code=1)
    for n in (1, 2, 3):
        connect.alter(name, ({"counter": "a"}, {"n": n}))
    connect.alter(name, ({"counter": "b"}, {"n": 9}))
    history = console(f"get offset history {name} -o json").json["history"]
    assert [past["number"] for past in history] == [4, 3, 2, 1]
    assert "counter a: n 1 → n 2" in console(f"get offset history {name}").out
    console(f"undo {name}")
    assert _offsets(connect, name) == {"a": 3}
    console(f"undo {name}")
    assert _offsets(connect, name) == {"a": 3, "b": 9}
    console(f"rollback {name} --to 2")
    assert _offsets(connect, name) == {"a": 1}
    console(f"delete offsets {name} -y", f"undo {name}")
    assert _offsets(connect, name) == {"a": 1}
    console(f"delete {name} -y")
    assert console("get orphans -o name").out.split().count(name) == 1
    console(f"delete orphans {name}", f"delete orphans {name} --dry-run", options=("--keep-going",), code=3)
    assert name not in console("get orphans -o name").out.split()
    console(f"rollback {name}", code=2)
    console(f"rollback {name} --to 99", code=3)


def test_a_file_gives_a_new_connector_its_offsets(connect: Connect, tmp_path: Path) -> None:
    """`initial_offsets` (KIP-995) count only when the connector is created."""
    console, name, file = Console(connect.worker.url, tmp_path), unique("c"), tmp_path / "connector.json"
    config = {"connector.class": "headrace_test_plugins.CountingConnector", "topic": "t", "tasks.max": "1", **STRINGS}
    offsets = [{"partition": {"counter": "a"}, "offset": {"n": 7}}]
    body = {"name": name, "config": config, "initial_state": "STOPPED", "initial_offsets": offsets}
    file.write_text(json.dumps(body))
    assert "created: The framework-managed offsets" in console(f"apply -f {file}").err
    assert _offsets(connect, name) == {"a": 7}
    connect.alter(name, ({"counter": "a"}, {"n": 8}))
    assert "ignoring its initial_state and initial_offsets" in console(f"apply -f {file}").err
    assert _offsets(connect, name) == {"a": 8}


def _offsets(connect: Connect, name: str) -> dict[str, int]:
    return {e["partition"]["counter"]: e["offset"]["n"] for e in connect.offsets(name)}

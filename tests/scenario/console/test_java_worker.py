"""The console against Apache Kafka Connect itself: list, stop, alter, resume."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.console.script_console import Console
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

STRING = "org.apache.kafka.connect.storage.StringConverter"
LINES = [f"line {n}" for n in range(10)]


@pytest.fixture
def console(java_connect: WorkerProcess, tmp_path: Path) -> Console:
    return Console(java_connect.url, tmp_path)


def test_list_stop_alter_resume_by_script(console: Console, broker: KafkaBroker, tmp_path: Path) -> None:
    """An offset change from start to end, of both kinds of connector, checked by the content of the sink's file."""
    source, sink, topic = unique("source"), unique("sink"), broker.create_topic()
    read, written = tmp_path / "in.txt", tmp_path / "out.txt"
    read.write_text("".join(f"{line}\n" for line in LINES))
    (tmp_path / "source.json").write_text(
        json.dumps(
            {
                "name": source,
                "config": {
                    "connector.class": "FileStreamSource",
                    "file": str(read),
                    "topic": topic,
                    "value.converter": STRING,
                },
            }
        )
    )
    (tmp_path / "sink.properties").write_text(
        f"name={sink}\nconnector.class=FileStreamSink\ntopics={topic}\nfile={written}\nvalue.converter={STRING}\n"
    )

    def arrived() -> list[str]:
        return written.read_text().splitlines() if written.exists() else []

    plan = console(f"apply -f {tmp_path} --dry-run", code=8).out
    assert f"@@ create {source} @@" in plan and "plan: 2 to create, 0 to update" in plan
    made = console.script(
        f"""
        apply -f {tmp_path}
        wait {source} RUNNING        # connector and tasks
        wait connector {sink} running --timeout 30s
        get connectors {source} {sink} -o json
        """
    )
    assert f"{source}: created" in made.err
    listed = {entry["name"]: entry for entry in made.json}
    assert listed[source]["state"] == listed[sink]["state"] == "RUNNING"
    assert listed[source]["tasks"] == {"running": 1, "failed": 0, "total": 1}
    assert (listed[source]["type"], listed[sink]["type"]) == ("source", "sink")
    wait_until(lambda: arrived() == LINES)

    # The source continues at the line of its new offset. `patch` accepts the output of `get`.
    stopped = console(f"stop {source}", f"wait {source} STOPPED", f"get offsets {source} -o json").json
    assert stopped == {"offsets": [{"partition": {"filename": str(read)}, "offset": {"position": read.stat().st_size}}]}
    position = len("".join(f"{line}\n" for line in LINES[:6]))
    stopped["offsets"][0]["offset"]["position"] = position
    (tmp_path / "offsets").write_text(json.dumps(stopped))
    altered = console(f"patch offsets {source} @{tmp_path}/offsets")
    assert altered.out == f"{source}: The offsets for this connector have been altered successfully\n"
    assert altered.err.startswith(f"{source}: ") and altered.err.count("\n") == 1, "one line with the result"
    assert console(f"get offsets {source} -o json").json == stopped
    console(f"resume {source}", f"wait {source} RUNNING")
    wait_until(lambda: arrived() == LINES + LINES[6:])

    # The sink reads again from the altered offset, and everything after a reset.
    console(f"stop {sink}", f"wait {sink} STOPPED")
    written.unlink()
    console(
        f"patch offsets {sink} --kafka-topic {topic} --kafka-partition 0 --kafka-offset 12",
        f"resume {sink}",
        f"wait {sink} RUNNING",
    )
    wait_until(lambda: arrived() == LINES[8:])
    written.unlink()
    reset = console(f"stop {sink}", f"wait {sink} STOPPED", f"delete offsets {sink}", f"get offsets {sink} -o json")
    first, _, rest = reset.out.partition("\n")
    assert first == f"{sink}: The offsets for this connector have been reset successfully"
    assert json.loads(rest) == {"offsets": []}
    console(f"resume {sink}", f"wait {sink} RUNNING")
    wait_until(lambda: arrived() == LINES + LINES[6:])

    gone = console(f"delete {source} {sink}", f"wait {source} DELETED", f"wait {sink} DELETED")
    assert f"{source}: deleted" in gone.err
    left = console("get connectors -o json", f"get connectors {source}", code=3)
    assert not {source, sink} & {entry["name"] for entry in json.loads(left.out)}


def test_messages_of_the_server_are_shown_unchanged(console: Console, broker: KafkaBroker, tmp_path: Path) -> None:
    name, topic = unique("source"), broker.create_topic()
    file = tmp_path / "c.json"
    config = {"name": name, "connector.class": "FileStreamSource", "file": str(tmp_path / "x"), "topic": topic}
    file.write_text(json.dumps({**config, "tasks.max": "many"}))
    refused = console(f"apply -f {file}", code=1)
    assert refused.err.count("\n") == 1
    assert f"headrace: {name}: Connector configuration is invalid and contains the following 2 error(s):" in refused.err
    assert console(f"apply -f {file} --dry-run", code=1).err.startswith(f"headrace: {name}: Invalid value many for")

    file.write_text(json.dumps({"name": name, "config": config, "initial_state": "PAUSED"}))
    console(f"apply -f {file}", f"wait {name} PAUSED", f"resume {name}", f"wait {name} RUNNING")
    assert "unchanged" in console(f"apply -f {file}").err
    console(f"restart {name} -t all", f"wait {name} RUNNING", f"restart task {name}/0", f"wait {name} RUNNING")
    file.write_text(json.dumps({**config, "batch.size": 7}))
    planned = console(f"apply -f {file} --dry-run", code=8)
    assert planned.out.startswith(f"@@ update {name} @@\n+ batch.size=7\n") and planned.err == ""
    assert f"{name}: updated" in console(f"apply -f {file}", f"wait {name} RUNNING").err

    entry = json.dumps([{"partition": {"filename": "/x"}, "offset": {"position": 1}}])
    running = console(f"patch offsets {name} {entry}", code=4)
    assert running.err.endswith(
        f"headrace: {name}: Connectors must be in the STOPPED state before their offsets can be modified. This can be "
        f"done for the specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint\n"
    )
    console(f"stop {name}", f"wait {name} STOPPED")
    odd = json.dumps([{"partition": {"filename": "/x"}, "offset": {"position": "one"}}])
    assert "is expected to be a Long value" in console(f"patch offsets {name} {odd}", code=1).err
    console(f"delete {name}")


def test_a_failed_task_is_listed_first_with_its_trace(console: Console, broker: KafkaBroker, tmp_path: Path) -> None:
    name, topic = unique("fails"), broker.create_topic()
    (tmp_path / "c.properties").write_text(
        f"name={name}\nconnector.class=FileStreamSource\nfile={tmp_path / 'in'}\ntopic={topic}\n"
        "producer.override.compression.type=zip\n"
    )
    result = console(
        f"apply -f {tmp_path}", f"wait {name} FAILED", f"get connectors {name} -o json", f"describe {name}"
    )
    (entry,), end = json.JSONDecoder().raw_decode(result.out)
    assert (entry["state"], entry["tasks"]["failed"]) == ("FAILED", 1)
    assert "task 0:\norg.apache.kafka" in result.out[end:]
    assert "\n\tat " in result.out
    late = console(f"wait {name} RUNNING --timeout 300ms", code=6)
    assert f"headrace: {name}: not RUNNING within 0.3 s: FAILED, tasks 0/1, 1 failed: " in late.err
    restarted = console(f"restart {name} -t failed -o json").json
    assert restarted["result"] == "restarted"
    again = console(f"restart task {name}/0", code=1)
    assert again.err == f"headrace: {name}/0: Failed to start task: {name}-0\n"
    console(f"delete {name}")

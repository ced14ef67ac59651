"""`check` and `watch` against Apache's worker and ours: states, lag, exit codes, incidents."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON, SINK, STRINGS, Connect
from tests.support.console.script_console import Console
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess

OK, WARNING, CRITICAL, UNKNOWN = range(4)


@pytest.fixture(params=["java_connect", "our_connect"])
def connect(request: pytest.FixtureRequest) -> Connect:
    worker: WorkerProcess = request.getfixturevalue(request.param)
    return Connect(worker)


def test_a_check_tells_states_apart(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    good, bad, topic = unique("good"), unique("bad"), broker.create_topic()
    broker.produce(topic, b"{no json")
    config = {"connector.class": SINK, "topics": topic, "tasks.max": "1"}
    connect.create(good, {**config, "file": str(tmp_path / good), **STRINGS})
    connect.create(bad, {**config, "file": str(tmp_path / bad), **STRINGS, "value.converter": JSON})
    connect.wait(good, "RUNNING", ["RUNNING"], 120)
    connect.wait(bad, "RUNNING", ["FAILED"], 120)
    console = Console(connect.worker.url, tmp_path)

    assert console(f"check {good}").out == "HEADRACE OK - 1 connector | connectors=1 critical=0 warning=0\n"
    found = console(f"check {good} {bad}", code=CRITICAL)
    assert found.out.startswith(f"HEADRACE CRITICAL - {bad} 1 of 1 tasks FAILED | connectors=2 critical=1 ")
    console(f"check {bad} -w failed", code=WARNING)
    found = console(f"check {good} missing-one -o json", code=CRITICAL)
    assert found.json["findings"] == [{"level": "CRITICAL", "connector": "missing-one", "text": "does not exist"}]
    assert "is not a condition" in console(f"check {good} -c nonsense", code=UNKNOWN).out
    console("check nothing-*", code=UNKNOWN)

    reports_lag = connect.request("GET", "/events/own")[0] != 404
    if reports_lag:  # with the next progress event
        wait_until(lambda: console(f"check {good} -c 'lag > 100'", code=None).code == OK, 60)
    else:
        console(f"check {good} -c 'lag > 100'", code=UNKNOWN)
    console(f"set-context c --cluster={connect.worker.url} --bootstrap-servers={broker.bootstrap}")
    # until the sink has committed offsets, its lag is unknown
    wait_until(lambda: console.in_context("c", f"check {good} -c 'lag > 100'", code=None).code != UNKNOWN, 90)
    console.in_context("c", f"check {good} -c 'lag > 100'", code=OK)
    broker.produce(topic, *(b"more" for _ in range(200)))
    connect.put(good, "pause")
    connect.wait(good, "PAUSED", ["PAUSED"])
    console(f"check {good} -c paused", code=CRITICAL)
    for name in (good, bad):
        connect.ask("DELETE", f"/connectors/{name}")


def test_an_unreachable_cluster_is_unknown(tmp_path: Path) -> None:
    assert "unknown option --al" in Console("http://127.0.0.1:9", tmp_path)("check --al", code=UNKNOWN).err
    found = Console("http://127.0.0.1:9", tmp_path)("check", code=UNKNOWN)
    assert found.out.startswith("HEADRACE UNKNOWN - cannot reach")


def test_incidents_are_reported_once_when_they_start_and_when_they_end(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    name, log = unique("watched"), tmp_path / "log"
    config = {"connector.class": SINK, "topics": broker.create_topic(), "file": str(tmp_path / name), "tasks.max": "1"}
    connect.create(name, {**config, **STRINGS})
    connect.wait(name, "RUNNING", ["RUNNING"], 120)
    folder = tmp_path / "headrace"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f'[[rules]]\nwhen = "paused"\nname = "on hold"\nconnectors = "{name}"\n'
        f'command = "echo $HEADRACE_EVENT $HEADRACE_CONNECTORS >> {log}"\n'
    )
    out = tmp_path / "out.jsonl"
    with out.open("wb") as file:
        watching = Console(connect.worker.url, tmp_path).start("watch --every 200ms --for 60s -o jsonl", out=file)
        try:
            connect.put(name, "pause")
            wait_until(lambda: "started" in out.read_text(), 30)
            connect.put(name, "resume")
            wait_until(lambda: "ended" in out.read_text(), 30)
            wait_until(lambda: log.exists() and log.read_text() == f"started {name}\nended {name}\n", 10)
        finally:
            watching.send_signal(signal.SIGINT)
            watching.wait(20)
    reports = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(one["event"], one["rule"], one["connectors"]) for one in reports] == [
        ("started", "on hold", [name]), ("ended", "on hold", [name]),
    ]  # fmt: skip
    connect.ask("DELETE", f"/connectors/{name}")

"""The embedded cluster over its command line: start, discovery, recovery, and an end that leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.embedded.processes import ports
from runtime.embedded.processes.process import ProcessRef
from runtime.embedded.state import ClusterPhase
from runtime.system.cache import cache_folder
from tests.support.clusters import rest
from tests.support.clusters.embedded import EmbeddedCommands
from tests.support.free_ports import free_port
from tests.support.waiting import soon, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[EmbeddedCommands]:
    """In a folder whose path needs escapes in properties files."""
    commands = EmbeddedCommands(tmp_path / 'Zoë "x" \\n 日本')
    yield commands
    commands.run("down")


def test_up_status_demo_and_down(embedded: EmbeddedCommands) -> None:
    done = embedded.run("status")
    assert (done.returncode, done.stderr.count("\n")) == (5, 1)
    kafka, connect = free_port(), free_port()
    embedded.env[ports.KAFKA_VARIABLE] = str(kafka)
    up = embedded.run("up", "--json", "--attach", str(os.getpid()), "--rest-port", str(connect))
    assert up.returncode == 0, up.stderr
    assert _ready_seconds(up.stderr) <= soon(30)
    where = json.loads(up.stdout)
    assert (where["bootstrap"], where["url"]) == (f"127.0.0.1:{kafka}", f"http://127.0.0.1:{connect}")
    assert where["started"] and rest.answers(f"{where['url']}/health")
    _assert_the_operator_keeps_it(embedded, where)
    table = embedded.ok("status").splitlines()
    assert [row.split()[0] for row in table] == ["PART", "supervisor", "broker", "worker"]
    assert embedded.run("run").returncode == 4
    _assert_the_demo_flows(embedded.state / "demo" / "out.txt", where["url"])
    assert rest.request(f"{where['url']}/connectors/demo-sink", "DELETE")[0] == 204
    processes = embedded.processes()
    embedded.ok("down")
    _assert_gone(processes)
    assert embedded.run("status").returncode == 5
    assert "was not running" in embedded.run("down").stderr
    url = json.loads(embedded.ok("up", "--json", "--attach", str(os.getpid())))["url"]
    wait_until(lambda: rest.request(f"{url}/connectors")[1] == ["demo-source"], 30)  # the demo is created only once
    processes = embedded.processes()
    embedded.ok("detach", "--pid", str(os.getpid()))
    assert not processes[0].alive(), "the last console ends the cluster, and waits until the supervisor has ended"
    _assert_gone(processes)


def _assert_the_operator_keeps_it(embedded: EmbeddedCommands, where: dict[str, Any]) -> None:
    """A cluster that the operator started as well stays up when the last console is detached."""
    assert json.loads(embedded.ok("up", "--json")) == {**where, "started": False}
    embedded.ok("detach", "--pid", str(os.getpid()))
    assert embedded.status()["kept"] is True
    assert embedded.run("up", "--attach", str(2**22 + 1)).returncode == 2
    elsewhere = embedded.run("up", "--rest-port", str(free_port()))
    assert elsewhere.returncode == 1 and f"its worker at {where['url']} instead" in elsewhere.stderr


def _assert_the_demo_flows(sink: Path, url: str) -> None:
    assert sorted(rest.request(f"{url}/connectors")[1]) == ["demo-sink", "demo-source"]
    wait_until(lambda: sink.exists() and len(sink.read_bytes().splitlines()) >= 3, 90, "lines of the demo")
    lines = [json.loads(line) for line in sink.read_text().splitlines(keepends=True) if line.endswith("\n")]
    assert [line["number"] for line in lines] == list(range(1, len(lines) + 1))
    assert [line["gate"] for line in lines[:3]] == [1, 2, 3]


def test_the_c_locale_and_jars_in_a_folder_beyond_ascii(embedded: EmbeddedCommands, tmp_path: Path) -> None:
    """In this locale Java cannot read such a path."""
    home = tmp_path / "hömé"
    home.mkdir()
    (home / "headrace").symlink_to(cache_folder())
    embedded.env |= {"LC_ALL": "C", "XDG_CACHE_HOME": str(home)}
    embedded.ok("up")
    state = embedded.recorded()
    assert state is not None

    def runs() -> bool:
        response: Any = rest.request(f"{state.url}/connectors/demo-source/status")[1]
        return [task["state"] for task in response["tasks"]] == ["RUNNING"]

    wait_until(runs, 60, "Spark runs the demo's task")


@pytest.mark.soak
def test_a_killed_worker_is_started_again(embedded: EmbeddedCommands) -> None:
    embedded.ok("up")
    _assert_replaced_when_killed(embedded, "worker")


@pytest.mark.soak
def test_killed_parts_and_supervisors_are_started_again(embedded: EmbeddedCommands) -> None:
    embedded.ok("up")
    before = _assert_replaced_when_killed(embedded, "broker")

    processes = embedded.processes()
    processes[0].signal(signal.SIGKILL)  # the supervisor, whose parts must not block the next start
    after = json.loads(embedded.ok("up", "--json"))
    assert after["started"] and after["cluster_id"] == before["cluster_id"]
    _assert_gone(processes)

    processes = embedded.processes()
    for process in processes:
        process.signal(signal.SIGKILL)
    _assert_gone(processes)
    starts = [
        subprocess.Popen(embedded.command(["up", "--json"]), stdout=subprocess.PIPE, env=embedded.env) for _ in range(3)
    ]
    answers = [json.loads(start.communicate(timeout=150)[0]) for start in starts]
    assert sorted(answer["started"] for answer in answers) == [False, False, True]
    assert {(answer["url"], answer["cluster_id"]) for answer in answers} == {(answers[0]["url"], before["cluster_id"])}
    assert embedded.run("status").returncode == 0


def _assert_replaced_when_killed(embedded: EmbeddedCommands, part: str) -> dict[str, Any]:
    """Kills a part, which the supervisor starts again; returns the status before."""
    before = embedded.status()
    os.kill(before["parts"][part]["pid"], signal.SIGKILL)

    def is_back() -> bool:
        now = embedded.recorded()
        assert now is not None
        return now.phase is ClusterPhase.READY and now.parts[part].process.pid != before["parts"][part]["pid"]

    wait_until(is_back, 60)
    after = json.loads(embedded.ok("up", "--json"))
    assert (after["url"], after["cluster_id"], after["started"]) == (before["url"], before["cluster_id"], False)
    return before


def test_run_ends_all_its_processes_at_a_signal(embedded: EmbeddedCommands) -> None:
    with embedded.start("run") as run:
        try:
            _read_until_ready(run)
            processes = embedded.processes()
            assert len(processes) >= 3
            run.send_signal(signal.SIGINT)
            assert run.wait(45) == 0
        finally:
            run.kill()
    _assert_gone(processes)
    assert embedded.status() == {}


def test_run_ends_at_a_signal_during_its_start(embedded: EmbeddedCommands) -> None:
    with embedded.start("run") as run:
        try:
            wait_until(lambda: (state := embedded.recorded()) and "broker" in state.parts, 60)
            processes = embedded.processes()
            run.send_signal(signal.SIGTERM)
            assert run.wait(45) == 0
        finally:
            run.kill()
    _assert_gone(processes)


def test_the_cluster_ends_with_the_last_attached_console(embedded: EmbeddedCommands) -> None:
    with subprocess.Popen(["sleep", "600"]) as first, subprocess.Popen(["sleep", "600"]) as second:
        try:
            embedded.ok("up", "--json", "--attach", str(first.pid))
            embedded.ok("up", "--json", "--attach", str(second.pid))
            processes = embedded.processes()
            embedded.ok("detach", "--pid", str(first.pid))
            assert embedded.status()["attached"] == [second.pid]
        finally:
            first.kill()
            second.kill()
    # the second console was killed
    _assert_gone(processes, 45)
    assert embedded.status() == {}


def test_a_missing_java_is_reported(
    embedded: EmbeddedCommands, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    embedded.env["JAVA_HOME"] = str(tmp_path)
    for verb in ("up", "run"):
        done = embedded.run(verb)
        assert done.returncode == 1
        assert re.fullmatch(r"headrace: JAVA_HOME is .*: install Java 17 or newer .*\n", done.stderr)


@pytest.mark.parametrize("verb", ["up", "run"])
def test_a_folder_that_cannot_be_created_is_reported(embedded: EmbeddedCommands, verb: str) -> None:
    embedded.env["XDG_STATE_HOME"] = "/proc/1"  # as on a read-only file system, not even root may write there
    done = embedded.run(verb)
    assert done.returncode == 1
    assert re.fullmatch(
        r"headrace: cannot write /proc/1/headrace: .*; make it writable or set XDG_STATE_HOME\n", done.stderr
    )


def _read_until_ready(run: subprocess.Popen[str]) -> None:
    assert run.stderr is not None
    for line in run.stderr:
        if line.startswith("ready in "):
            return
    raise AssertionError("it ended before it was ready")


def _ready_seconds(text: str) -> float:
    found = re.search(r"ready in ([\d.]+) s", text)
    assert found, text
    print(found.group())
    return float(found.group(1))


def _assert_gone(processes: list[ProcessRef], timeout: float = 30.0) -> None:
    for process in processes:
        assert process.wait_gone(timeout), f"{process.pid} is still there"

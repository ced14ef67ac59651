"""The first half of a newcomer's tour, on Apache's worker and on ours: find a failure, read its trace, fix the config,
restart it; in a real terminal, and the same as a script judged by its exit codes. Second half: test_seek_by_time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.console.script_console import Console
from tests.support.console.terminal import Terminal
from tests.support.waiting import wait_until
from tests.tui.conftest import Cluster
from tui import session
from tui.contexts.profiles import Profile

WRONG, RIGHT = "json.JsonConverter", "storage.StringConverter"


@pytest.fixture
def cluster(each_cluster: Cluster) -> Cluster:
    return each_cluster


def test_find_a_failure_read_the_trace_fix_it_and_restart(cluster: Cluster) -> None:
    source = cluster.source("tour")
    name = cluster.failing(source)
    cluster.wait_failed(name)
    with Terminal(cluster.url) as terminal:
        terminal.sees(name, "✗ FAILED")
        terminal.process.send(f"/{name}\rt")  # in one packet, as keys typed quickly over SSH
        terminal.sees("why task 0 failed", "4✗trace", "full trace")
        terminal.press("3")
        terminal.sees("value.converter", "KEY")
        terminal.press("G", "enter")
        terminal.sees(f'{WRONG}"', "no change yet")
        terminal.press(*["backspace"] * len(WRONG), *RIGHT)
        terminal.sees("would change 1 key", "✓ valid")
        terminal.press("ctrl+s")
        terminal.sees(f"change the config of {name}?", "Only these keys are sent", "y yes")
        terminal.press("y")
        terminal.sees("✓ applied", "● RUNNING")
        terminal.press("R")
        terminal.sees("y yes")
        terminal.press("y")
        terminal.sees("observed: RUNNING")
        terminal.press("8")
        terminal.sees("config changed: ~value.converter")
        terminal.press("q")
        assert terminal.exit_code(within=60) == 0
    assert cluster.request("GET", f"/connectors/{name}/config")[1]["value.converter"].endswith(RIGHT)


@pytest.fixture
def contexts(cluster: Cluster, other: Cluster, broker: KafkaBroker) -> Iterator[None]:
    file = session.profiles()
    file.put(Profile(cluster.url, "here", bootstrap=broker.bootstrap))
    file.put(Profile(other.url, "there", bootstrap=broker.bootstrap))
    yield
    file.path.unlink()


def produce(broker: KafkaBroker, topic: str, count: int, word: str, hours_ago: float) -> None:
    with broker.writing() as write:
        for number in range(count):
            write(topic, f"{word} {number}", timestamp=int((time.time() - hours_ago * 3600) * 1000))


@pytest.mark.usefixtures("contexts")
def test_find_the_lag_peek_rewind_drain_roll_back_and_promote(
    cluster: Cluster, other: Cluster, broker: KafkaBroker
) -> None:
    topic = unique("tour")
    produce(broker, topic, 30, "old", hours_ago=2)
    produce(broker, topic, 20, "recent", hours_ago=0.5)
    name = cluster.sink(topic, "tour")
    wait_until(lambda: [o for _, o in cluster.offsets(name)] == [{"kafka_offset": 50}], 90, "50 records", every=0.1)
    cluster.request("PUT", f"/connectors/{name}/pause")
    cluster.wait(name, "PAUSED 0/1")
    produce(broker, topic, 7, "new", hours_ago=0)
    out = cluster.folder / f"{name}.out"
    with Terminal("--context", "here") as terminal:
        terminal.sees(name, "7 behind")
        terminal.press("S", "l")
        terminal.sees("LAG↓")
        terminal.press("g", "5")
        terminal.sees(name, "lag 7 records", f"{topic}-0")
        terminal.press("v")
        terminal.sees("records", "value as text", "new 0")
        terminal.escape()
        terminal.press("w", *"1h ago")
        terminal.sees("offset 50 → offset 30")
        terminal.press("enter")
        terminal.sees("would change 1 partition")
        terminal.press("ctrl+s")
        terminal.sees("In one step: stop it", "y yes")
        terminal.press("y")
        terminal.sees("success", "lag 27 records")
        terminal.press("r")
        terminal.sees("● RUNNING", "at the end")
        terminal.press("3", ":", *f"patch {name} -s tasks.max=5", "enter")
        terminal.sees("+ tasks.max=5", "y yes")
        terminal.press("y")
        terminal.sees("✓ patch")
        terminal.press("H")
        terminal.sees("config history", "+tasks.max")
        terminal.press("R")
        terminal.sees("rollback config", "y yes")
        terminal.press("y")
        path = f"/connectors/{name}/config"
        terminal.until(lambda: "tasks.max" not in cluster.request("GET", path)[1], "the rollback")
        terminal.press(">")
        terminal.sees("promote to there", "1 to create STOPPED", "> promotes")
        other.made.append(name)
        terminal.press(">")
        terminal.sees(f"create {name}", "y yes")
        terminal.press("y")
        terminal.sees("1 connector promoted")
        terminal.escape()
        terminal.escape()
        terminal.press("q")
        assert terminal.exit_code(within=60) == 0
    assert out.read_text().splitlines().count("recent 3") == 2, "records of the last hour were written again"
    assert "old 3" in out.read_text() and out.read_text().count("old 3\n") == 1
    assert other.state(name) == "STOPPED 0/0"


def test_the_same_tour_as_a_script(cluster: Cluster, tmp_path: Path) -> None:
    headrace = Console(cluster.url, tmp_path)
    source = cluster.source("tour")
    name = cluster.failing(source)
    cluster.wait_failed(name)
    assert name in headrace("get connectors --state FAILED -o name").out.split()
    assert headrace(f"wait {name} RUNNING --timeout 500ms", code=6).err.count("FAILED") >= 1
    assert "JsonConverter" in headrace(f"describe connector {name}").out
    wrong = "patch connector NAME -s value.converter=no.such.Converter".replace("NAME", name)
    assert "no.such.Converter" in headrace(wrong, code=1).err
    headrace(f"patch connector {name} -s", code=2)
    headrace("patch connector nobody -s a=b", code=3)
    fixed = f"org.apache.kafka.connect.{RIGHT}"
    headrace.script(
        f"""# fix the converter and wait until the connector runs
        patch connector {name} -s value.converter={fixed} --dry-run
        patch connector {name} -s value.converter={fixed}
        restart {name} -t FAILED
        wait {name} RUNNING --timeout 60s
        """
    )
    assert cluster.state(name) == "RUNNING 1/1"
    headrace(f"stop {name}", f"wait {name} STOPPED", f"resume {name}", f"wait {name} RUNNING")
    assert headrace.script(f"stop nobody\nstop {name}\n", code=3).err.count("nobody") >= 1
    assert cluster.state(name) == "RUNNING 1/1", "a script stops at its first failure"

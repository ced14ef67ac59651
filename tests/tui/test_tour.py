"""The first half of a newcomer's tour, on Apache's worker and on ours: find a failure, read its trace, fix the config,
restart it; in a real terminal, and the same as a script judged by its exit codes. Second half: test_seek_by_time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenario.script_console import Console
from tests.tui.conftest import Cluster
from tests.tui.terminal import Terminal

WRONG, RIGHT = "json.JsonConverter", "storage.StringConverter"


@pytest.fixture(params=["connect_url", "our_connect_url"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    one = Cluster(request.getfixturevalue(request.param), tmp_path)
    yield one
    one.close()


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

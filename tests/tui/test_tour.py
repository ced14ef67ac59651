"""The first half of a newcomer's tour in a real terminal: find what failed, read why, mend its config, restart it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.conftest import Cluster
from tests.tui.terminal import Terminal

WRONG, RIGHT = "json.JsonConverter", "storage.StringConverter"


@pytest.fixture(params=["connect_url"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    one = Cluster(request.getfixturevalue(request.param), tmp_path)
    yield one
    one.close()


def test_find_the_failed_one_read_why_mend_it_restart_it(cluster: Cluster) -> None:
    source = cluster.source("tour")
    name = cluster.failing(source)
    cluster.wait(name, "RUNNING 0/1")
    with Terminal(cluster.url) as terminal:
        terminal.sees(name, "✗ FAILED")
        terminal.press("/", *name)
        terminal.sees(f"by /{name}")
        terminal.press("enter")
        terminal.sees("t trace")  # the prompt is closed: letters are keys again
        terminal.press("t")
        terminal.sees("why task 0 failed", "4 trace ✗", "the whole trace")
        terminal.press("3")
        terminal.sees("value.converter", "KEY")
        terminal.press("G", "enter")
        terminal.sees(f'{WRONG}"', "no change yet")
        terminal.press(*["backspace"] * len(WRONG), *RIGHT)
        terminal.sees("would change 1 key", "the worker finds it valid")
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

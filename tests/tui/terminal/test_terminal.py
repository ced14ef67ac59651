"""A change of offsets at 80×24 on Apache's worker and on Headrace's: the real program in a real terminal."""

from __future__ import annotations

import pytest

from tests.support.console.terminal import Terminal
from tests.support.waiting import wait_until
from tests.tui.conftest import Cluster


@pytest.fixture
def cluster(each_cluster: Cluster) -> Cluster:
    return each_cluster


@pytest.fixture
def source(cluster: Cluster) -> str:
    """A file source of 100 lines of 10 bytes, at the end of its file."""
    name = cluster.source("demo")
    cluster.wait(name, "RUNNING 1/1")
    wait_until(lambda: _position(cluster, name) == 1000, 90, "position 1000", every=0.3)
    return name


def _position(cluster: Cluster, name: str) -> int | None:
    """Stops and resumes the connector to commit its offset, since the commit interval may be long."""
    if not cluster.offsets(name):
        topics = cluster.request("GET", f"/connectors/{name}/topics")[1]
        if topics and topics.get(name, {}).get("topics"):
            cluster.request("PUT", f"/connectors/{name}/stop")
            cluster.wait(name, "STOPPED 0/0")
            cluster.request("PUT", f"/connectors/{name}/resume")
            cluster.wait(name, "RUNNING 1/1")
        return None
    return int(cluster.offsets(name)[0][1]["position"])


def find(terminal: Terminal, name: str) -> None:
    """Filters the list to one connector."""
    terminal.sees(name)
    terminal.press("/", *name)
    terminal.sees(f"by /{name}", "1 of ")
    terminal.press("enter")


def test_list_open_stop_edit_apply_resume(cluster: Cluster, source: str) -> None:
    with Terminal(cluster.url) as terminal:
        terminal.sees("headrace", cluster.url, "NAME", "STATE", source, "● RUNNING")
        find(terminal, source)
        terminal.press("enter")
        terminal.sees("1 overview", "connector ", "FileStreamSource")
        terminal.press("s")
        terminal.sees("Tasks end", "y yes")  # the key is shown when it applies
        terminal.press("y")
        terminal.sees("■ STOPPED", "observed: STOPPED")
        terminal.press("5")
        terminal.sees("PARTITION", "position 1000")
        terminal.press("e")
        terminal.sees('"position": 1000', "no change yet")
        terminal.press("backspace", "backspace", "x")
        terminal.sees("is not a number")
        terminal.press("backspace", "0")
        terminal.sees("position 1000 → position 100 (−900)")
        terminal.press("ctrl+s")
        terminal.sees("alter the offsets of", "y yes")
        terminal.press("y")
        terminal.sees("✓ definite success", "The offsets for this connector have been altered successfully")
        assert cluster.offsets(source)[0][1] == {"position": 100}
        terminal.press("r")
        terminal.sees("● RUNNING", "observed: RUNNING")
        terminal.press("ctrl+c")
        terminal.sees("q quits; so does ^C pressed again")
        terminal.press("ctrl+c")
        assert terminal.exit_code() == 0
    wait_until(
        lambda: _position(cluster, source) == 1000, 90, "the source to continue from line 10 to the end", every=0.3
    )

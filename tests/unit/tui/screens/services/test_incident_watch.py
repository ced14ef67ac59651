"""Rules of config.toml on the screen: incidents from snapshots and progress, without requests."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, cast

import pytest

from tui.client.client import Connect
from tui.cluster.snapshot import ClusterLink, LinkState, Snapshot
from tui.contexts.profiles import Profile
from tui.metrics.progress import ProgressMonitor
from tui.model import Connector, Task
from tui.screens.services.incident_watch import IncidentWatch
from tui.watch.conditions import condition
from tui.watch.incidents import Incidents
from tui.watch.notifying import BELL
from tui.watch.rules import Rule

RULES = """
[[rules]]
when = "failed"
[[rules]]
when = "lag > 100"
severity = "warning"
bell = false
desktop = false
[[rules]]
when = "unreachable"
[[rules]]
when = "fialed"
"""


class Screen:
    """What the watch shows, and writes to the terminal."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "headrace").mkdir()
        (folder / "headrace" / "config.toml").write_text(RULES)
        monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
        monkeypatch.setenv("TERM", "xterm")
        self.said: list[tuple[str, str]] = []
        self.written: list[str] = []
        connect: Any = None
        self.progress = ProgressMonitor(cast(Connect, connect), lambda: None)
        self.watch = IncidentWatch(
            Profile("http://w:8083", "prod"), connect, self.progress, self.written.append,
            lambda text, kind: self.said.append((kind, text)), lambda coroutine: None, every=0.0,
        )  # fmt: skip

    def see(self, task: str = "RUNNING", link: LinkState = LinkState.LIVE) -> list[tuple[str, str]]:
        """What is said about a snapshot of one sink."""
        self.said.clear()
        one = Connector("orders", "sink", "RUNNING", (Task(0, task),))
        self.watch.tick(Snapshot({"orders": one}, link=ClusterLink(link, trouble="refused")))
        return list(self.said)


@pytest.fixture
def screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Screen:
    return Screen(tmp_path, monkeypatch)


def test_an_incident_is_shown_once_with_bell_and_notice_and_its_end_once(screen: Screen) -> None:
    assert screen.watch.problems == ["rule 4: 'fialed' is not a condition (did you mean failed?)"]
    assert screen.see() == []
    assert screen.see("FAILED") == [("bad", "CRITICAL on prod: orders 1 of 1 tasks FAILED")]
    assert screen.see("FAILED") == []
    assert screen.see() == [("good", "ended on prod: orders 1 of 1 tasks FAILED")]
    assert [text.endswith("\x07" + BELL) for text in screen.written] == [True, False]


def test_a_clock_that_is_set_ahead_ends_no_waiting_time(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    screen.watch.incidents = Incidents([Rule(condition("failed"), lasting=300)])
    assert screen.see("FAILED") == []
    in_an_hour = time.time() + 3600
    monkeypatch.setattr(time, "time", lambda: in_an_hour)
    assert screen.see("FAILED") == []


def test_lag_is_taken_from_progress(screen: Screen) -> None:
    screen.progress.update({"orders": {"read": 1, "written": 1, "lag": {"records": 500, "ms": 0}}})
    assert screen.see() == [("warn", "WARNING on prod: orders lag 500 > 100")]
    assert screen.written == []
    screen.progress.update({"orders": {"read": 9, "written": 9, "lag": {"records": 5, "ms": 0}}})
    assert [kind for kind, _ in screen.see()] == ["good"]


def test_a_lost_cluster_keeps_its_incidents(screen: Screen) -> None:
    assert screen.see(link=LinkState.CONNECTING) == []
    screen.see("FAILED")
    assert screen.see(link=LinkState.LOST) == [("bad", "CRITICAL on prod: cannot be reached: refused")]
    assert screen.see("FAILED") == [("good", "ended on prod: cannot be reached: refused")]

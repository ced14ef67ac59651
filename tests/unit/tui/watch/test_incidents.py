"""Incidents are reported once when they start and once when they end."""

from __future__ import annotations

from tui.model import Connector, Task
from tui.watch.conditions import Observation, condition
from tui.watch.incidents import CLUSTER, IncidentChange, Incidents
from tui.watch.notifying import MAX_NAMED, desktop_notice, text_of
from tui.watch.rules import Rule

FAILED_RULE = Rule(condition("failed"))


def seen(*failed: str, running: tuple[str, ...] = ()) -> list[Observation]:
    return [
        Observation(Connector(name, "source", "RUNNING", (Task(0, "FAILED" if name in failed else "RUNNING"),)))
        for name in (*failed, *running)
    ]


def changes(found: list[IncidentChange]) -> list[tuple[bool, list[str]]]:
    return [(one.started, [name for name, _ in one.matches]) for one in found]


def test_each_incident_is_reported_once_and_its_end_once() -> None:
    incidents = Incidents([FAILED_RULE])
    assert changes(incidents.observe(seen("a", running=("b",)), 0)) == [(True, ["a"])]
    assert changes(incidents.observe(seen("a", running=("b",)), 10)) == []
    assert changes(incidents.observe(seen("b", running=("a",)), 20)) == [(True, ["b"]), (False, ["a"])]
    assert changes(incidents.observe([], 30)) == [(False, ["b"])], "a deleted connector has no incidents"


def test_a_condition_has_to_last() -> None:
    incidents = Incidents([Rule(condition("failed"), lasting=60)])
    assert changes(incidents.observe(seen("a"), 0)) == []
    assert changes(incidents.observe(seen(running=("a",)), 30)) == []
    assert changes(incidents.observe(seen("a"), 40)) == []
    assert changes(incidents.observe(seen("a"), 99)) == []
    assert changes(incidents.observe(seen("a"), 100)) == [(True, ["a"])]


def test_an_unreachable_cluster_neither_starts_nor_ends_other_incidents() -> None:
    incidents = Incidents([FAILED_RULE, Rule(condition("unreachable"))])
    incidents.observe(seen("a"), 0)
    assert changes(incidents.lost("refused", 10)) == [(True, [CLUSTER])]
    assert changes(incidents.lost("refused", 20)) == []
    assert changes(incidents.observe(seen("a"), 30)) == [(False, [CLUSTER])]


def test_what_is_unknown_keeps_its_incident() -> None:
    incidents = Incidents([Rule(condition("lag > 5"))])
    sink = Connector("a", "sink", "RUNNING", (Task(0, "RUNNING"),))
    assert changes(incidents.observe([Observation(sink, lag=9)], 0)) == [(True, ["a"])]
    assert changes(incidents.observe([Observation(sink)], 1)) == []
    assert changes(incidents.observe([Observation(sink, lag=1)], 2)) == [(False, ["a"])]


def test_a_thousand_failures_are_one_notice() -> None:
    (change,) = Incidents([FAILED_RULE]).observe(seen(*(f"c{n:03}" for n in range(1_000))), 0)
    text = text_of(change, "prod")
    assert text.startswith("CRITICAL on prod: c000 1 of 1 tasks FAILED; c001 ")
    assert text.endswith(f"; and {1_000 - MAX_NAMED} more connectors")


def test_names_cannot_smuggle_control_sequences_into_a_desktop_notice() -> None:
    (change,) = Incidents([FAILED_RULE]).observe(seen("a\x07\x1b]0;b"), 0)
    notice = desktop_notice(text_of(change, "x"), {"TERM": "xterm"})
    assert notice.startswith("\x1b]9;") and notice.endswith("\x07")
    assert not set("\x07\x1b") & set(notice[1:-1])
    assert desktop_notice("x", {"TERM": "xterm", "TMUX": "1"}).startswith("\x1bPtmux;\x1b\x1b]9;x")
    assert desktop_notice("x", {"TERM": "dumb"}) == ""

"""What happened to a connector, told from snapshots and notices."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from tui import model
from tui.cluster.snapshot import ClusterLink, LinkState, Notice, Snapshot
from tui.cluster.snapshot_builder import difference
from tui.model import Connector
from tui.screens.services.event_history import BAD, GOOD, MAX_EVENTS, EventHistory


def connector(state: str, *tasks: str, worker: str = "w:1", **config: str) -> Connector:
    entries: list[dict[str, Any]] = [
        {"id": number, "state": task, "worker_id": worker, "trace": "Boom: why\n\tat x"}
        for number, task in enumerate(tasks)
    ]
    status = {"connector": {"state": state, "worker_id": worker}, "tasks": entries, "type": "sink"}
    return model.connector("c", status, {"config": config})


def told(*stages: Connector | None) -> list[tuple[str, str, str]]:
    journal, before = EventHistory(lambda: 0.0), Snapshot()
    for one in stages:
        now = Snapshot(MappingProxyType({"c": one} if one else {}), link=ClusterLink(LinkState.POLLING, 1.0))
        journal.heard(now, difference(before, now))
        before = now
    return [(event.about, event.text, event.kind) for event in journal.of("c")]


def test_what_was_there_before_is_no_event() -> None:
    assert told(connector("RUNNING", "RUNNING")) == []


def test_states_tasks_config_and_the_end() -> None:
    seen = told(
        connector("RUNNING", "RUNNING", a="1"),
        connector("RUNNING", "FAILED", a="1"),
        connector("RUNNING", "RUNNING", a="2", b="3"),
        connector("PAUSED"),
        None,
        connector("RUNNING"),
    )
    assert seen == [
        ("task 0", "RUNNING → FAILED: Boom: why", BAD),
        ("connector", "config changed: ~a, +b", ""),
        ("task 0", "FAILED → RUNNING", GOOD),
        ("connector", "RUNNING → PAUSED", ""),
        ("connector", "config changed: −a, −b", ""),
        ("task 0", "RUNNING → gone", ""),
        ("connector", "deleted", "warn"),
        ("connector", "appeared", ""),
    ]


def test_a_task_that_moves() -> None:
    assert told(connector("RUNNING", "RUNNING"), connector("RUNNING", "RUNNING", worker="w:2")) == [
        ("connector", "moved from w:1 to w:2", ""),
        ("task 0", "moved from w:1 to w:2", ""),
    ]


def test_notices_and_no_more_than_are_kept() -> None:
    journal = EventHistory(lambda: 0.0)
    for number in range(MAX_EVENTS + 5):
        journal.noticed(Notice("", "ERROR", f"no\n{number}", "c", 3))
    events = journal.of("c")
    assert len(events) == MAX_EVENTS and events[-1].text == f"no {MAX_EVENTS + 4}"
    assert (events[-1].about, events[-1].kind) == ("task 3", BAD)

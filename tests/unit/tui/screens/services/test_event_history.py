"""Events of connectors, from snapshots and notices."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from tui import model
from tui.cluster.publisher import difference
from tui.cluster.snapshot import ClusterLink, LinkState, Notice, Snapshot
from tui.model import Connector
from tui.screens.services.event_history import BAD, GOOD, MAX_EVENTS, MAX_TOTAL, EventHistory


def connector(state: str, *tasks: str, worker: str = "w:1", **config: str) -> Connector:
    entries: list[dict[str, Any]] = [
        {
            "id": number,
            "state": task,
            "worker_id": worker,
            "trace": "a.b.Tolerance: exceeded\n\tat x\nCaused by: a.b.Boom: why\n\tat y",
        }
        for number, task in enumerate(tasks)
    ]
    status = {"connector": {"state": state, "worker_id": worker}, "tasks": entries, "type": "sink"}
    return model.connector("c", status, {"config": config})


def events(*snapshots: Connector | None) -> list[tuple[str, str, str]]:
    history, before = EventHistory(lambda: 0.0), Snapshot()
    for one in snapshots:
        now = Snapshot(MappingProxyType({"c": one} if one else {}), link=ClusterLink(LinkState.POLLING, 1.0))
        history.add_changes(now, difference(before, now))
        before = now
    return [(event.subject, event.text, event.kind) for event in history.of("c")]


def test_the_first_snapshot_is_not_an_event() -> None:
    assert events(connector("RUNNING", "RUNNING")) == []


def test_changes_of_state_tasks_and_config() -> None:
    seen = events(
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
        ("task 0", "RUNNING → removed", ""),
        ("connector", "deleted", "warn"),
        ("connector", "appeared", ""),
    ]


def test_a_task_moves_to_another_worker() -> None:
    assert events(connector("RUNNING", "RUNNING"), connector("RUNNING", "RUNNING", worker="w:2")) == [
        ("connector", "moved from w:1 to w:2", ""),
        ("task 0", "moved from w:1 to w:2", ""),
    ]


def test_only_the_newest_events_are_kept() -> None:
    history = EventHistory(lambda: 0.0)
    for number in range(MAX_EVENTS + 5):
        history.noticed(Notice("", "ERROR", f"no\n{number}", "c", 3))
    kept = history.of("c")
    assert len(kept) == MAX_EVENTS and kept[-1].text == f"no {MAX_EVENTS + 4}"
    assert (kept[-1].subject, kept[-1].kind) == ("task 3", BAD)


def test_the_number_of_events_of_all_connectors_is_bounded() -> None:
    history = EventHistory(lambda: 0.0)
    for number in range(MAX_TOTAL * 3):
        history.noticed(Notice("", "INFO", f"no {number}", f"c{number % 1000}"))
        history.noticed(Notice("", "INFO", f"no {number}", "loud"))
    kept = [len(history.of(f"c{number}")) for number in range(1000)]
    assert sum(kept) <= MAX_TOTAL and min(kept) >= 1, "a loud connector leaves room for the others"
    assert history.of("c999")[-1].text == f"no {MAX_TOTAL * 3 - 1}"

"""The list shows how many records a RUNNING sink drops or sends to its dead letter topic."""

from __future__ import annotations

from typing import cast

from tui.client.client import Connect
from tui.metrics.failure_rate import SHOWN_SECONDS, FailureRate, record_counts
from tui.metrics.progress import ConnectorProgress, ProgressMonitor
from tui.model import Connector, Task
from tui.screens.listing.connector_list import _progress

RUNNING = Connector("a", "sink", "RUNNING", (Task(0, "RUNNING", "w:1"),))

STOPPED = Connector("a", "sink", "STOPPED")


def progress_of(read: int, failed: int | None) -> dict[str, object]:
    more = {} if failed is None else {"failed": failed}
    return {"a": {"read": read, "written": read, **more, "lag": {"records": 0, "ms": 0}, "age_ms": 0, "stalled": []}}


def cell(progress: ProgressMonitor, now: float) -> tuple[str, str]:
    shown = _progress(progress.known["a"], RUNNING, now)
    return shown.text, shown.style


def test_the_list_shows_the_failure_rate_after_each_event() -> None:
    now = [100.0]
    progress = ProgressMonitor(cast("Connect", None), lambda: None, lambda: now[0])
    cells = []
    for read, failed in ((10, 10), (110, 60), (210, 61), (310, 161), (310, 161), (410, 161)):
        progress.update(progress_of(read, failed))
        cells.append(cell(progress, now[0]))
        now[0] += 5
    assert cells == [
        ("✗ all fail", "grid--error"),
        ("! 10/s fail", "grid--warning"),
        ("! <1/s fail", "grid--warning"),
        ("✗ all fail", "grid--error"),
        ("✗ all fail", "grid--error"),  # an event without new records
        ("at the end", "grid--muted"),
    ]


def test_a_failure_rate_expires_unless_all_records_fail() -> None:
    assert FailureRate(3.0, False, 100.0).is_so(100 + SHOWN_SECONDS / 2) and not FailureRate(3.0, False, 100.0).is_so(
        100 + SHOWN_SECONDS
    )
    assert FailureRate(3.0, True, 100.0).is_so(9999) and not FailureRate().is_so(0)
    assert _progress(ConnectorProgress(lag=0, failing=FailureRate(3.0, True)), STOPPED, 0).text == "at the end"


def test_workers_without_failure_counts_and_restarted_workers() -> None:
    assert record_counts({"read": 5}, 1.0).since(None) == FailureRate(at=1.0)
    before = record_counts({"read": 500, "failed": 400}, 1.0)
    assert record_counts({"read": 5, "failed": 1}, 6.0).since(before) == FailureRate(at=6.0), (
        "after a restart, counts start at zero"
    )
    assert record_counts({"read": 9, "failed": 9}, 6.0).since(before).everything

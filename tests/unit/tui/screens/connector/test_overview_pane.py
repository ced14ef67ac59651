"""Warnings of a source apply until its position moves."""

from __future__ import annotations

import pytest

from tui.formatting import short_time
from tui.screens.connector.overview_pane import standing

NOW = 1_790_000_000.0
WARNING = {"time": (NOW - 60) * 1000, "level": "WARN", "task": 0, "message": "/in.txt does not exist yet;\nwaiting"}
INFO = {"time": (NOW - 50) * 1000, "level": "INFO", "task": 0, "message": "one-0 is RUNNING"}


@pytest.mark.parametrize(
    ("age_ms", "applies"), [(None, True), (70_000, True), (55_000, False)], ids=["never moved", "before", "since then"]
)
def test_a_warning_applies_until_the_position_moves(age_ms: int | None, applies: bool) -> None:
    entry = {"partition": {"filename": "/in.txt"}, "offset": {"position": 1}, "age_ms": age_ms}
    text = standing([WARNING, INFO], {"offsets": [entry]}, NOW)
    assert text == (f"task 0 at {short_time(NOW - 60)}: /in.txt does not exist yet; waiting" if applies else "")


def test_without_warnings_the_text_is_empty() -> None:
    assert standing([INFO], {}, NOW) == "" == standing([], {"offsets": None}, NOW)

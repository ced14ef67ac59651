"""A restart as text: when, of which part, by whom, and its result."""

from __future__ import annotations

from textual.content import Content

from tui.formatting import clock_time
from tui.screens.services.last_restarts import LastRestart
from tui.widgets.text import visible

STYLES = {"good": "$success", "bad": "$error", "warn": "$warning"}


def content(restart: LastRestart, part: str, now: float) -> Content:
    """For example `12:03:04 (4 min ago), task 0, by you: observed: RUNNING, 1/1 tasks`; `part` may be empty."""
    words = f"{clock_time(restart.at, now)}, {part + ', ' if part else ''}by {restart.by}: "
    return Content.assemble(visible(words), (visible(restart.result), STYLES.get(restart.kind, "")))

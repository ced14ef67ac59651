"""Lines that a Headrace worker logged for a connector, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from textual.content import Content

from tui.formatting import short_time
from tui.widgets.text import visible, visible_lines

NOTHING_LOGGED = "the worker has logged nothing for this connector yet"
NO_LOG = "this worker has no log for single connectors; see its log files"
_STYLES = {"ERROR": "$error", "FATAL": "$error", "WARN": "$warning", "WARNING": "$warning"}


def is_warning(line: Mapping[str, Any]) -> bool:
    """Whether the line is a warning or an error."""
    return line.get("level") in _STYLES


def content(lines: Sequence[Mapping[str, Any]]) -> Content:
    """The lines, with repeated ones folded."""
    return Content("\n").join([_line(line, times) for line, times in folded(lines)])


def folded(lines: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], int]]:
    """Repeated messages as one line with the newest time and the number of repetitions."""
    folded_lines: list[tuple[Mapping[str, Any], int]] = []
    for line in lines:
        again = folded_lines and all(
            folded_lines[-1][0].get(key) == line.get(key) for key in ("level", "task", "message")
        )
        if again:
            folded_lines[-1] = line, folded_lines[-1][1] + 1
        else:
            folded_lines.append((line, 1))
    return folded_lines


def _line(line: Mapping[str, Any], times: int) -> Content:
    level, task = str(line.get("level", "")), line.get("task")
    style = _STYLES.get(level, "")
    head = f"{short_time(int(line.get('time', 0)) / 1000)} "
    subject = "" if task is None else f"task {task} "
    first, *rest = visible_lines(str(line.get("message", "")))
    parts = [(head, "$text-muted"), (f"{visible(level):<5} ", f"bold {style}" if style else "$text-muted")]
    parts += [(subject, "$text-muted"), (first, style), (f"  ×{times}" if times > 1 else "", "bold")]
    parts += [(f"\n    {text}", style or "$text-muted") for text in rest if text.strip()]
    return Content.assemble(*parts)

"""Warnings that still apply: those that the worker logged for a source since its position last moved."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tui.formatting import one_line

LEVELS = ("WARN", "WARNING", "ERROR", "FATAL")
Json = Any


def standing(lines: Sequence[Mapping[str, Json]], offsets: Json, now: float) -> str:
    """`task 0 at 12:03:04: /in.txt does not exist yet; waiting for it`; empty if the position moved after the last
    warning.

    `lines` are those of `GET logs`, oldest first; `offsets` is the answer of `GET offsets?detail=true`.
    """
    ages = [entry["age_ms"] for entry in offsets.get("offsets") or () if entry.get("age_ms") is not None]
    moved_at = now * 1000 - min(ages) if ages else 0.0
    for line in reversed(lines):
        at = line.get("time") or 0
        if at <= moved_at:
            break
        if line.get("level") in LEVELS:
            task = "" if line.get("task") is None else f"task {line['task']} "
            clock = time.strftime("%H:%M:%S", time.localtime(at / 1000))
            return f"{task}at {clock}: {one_line(line.get('message') or '')}"
    return ""

"""What tasks leave on the worker that runs them, collected from all workers: log lines, stacks, stalled tasks."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.herder.answers import DetailedOffsetsAnswer


def all_lines(here: list[dict[str, object]], elsewhere: Mapping[str, Any], most: int) -> list[dict[str, object]]:
    """The newest lines of all workers, oldest first. A last line names workers without a usable answer."""
    lines = [*here, *(line for found in elsewhere.values() if found is not None for line in found)]
    newest = sorted(lines, key=lambda line: line["time"])[max(len(lines) - most, 0) :]
    return [*newest, *_missing([worker for worker, found in elsewhere.items() if found is None])]


def with_stalled(here: DetailedOffsetsAnswer, elsewhere: Mapping[str, Any]) -> DetailedOffsetsAnswer:
    """The details of offsets, with the stalled tasks of all workers."""
    stalled = {*here["stalled"], *(task for found in elsewhere.values() if found for task in found.get("stalled", ()))}
    return {**here, "stalled": sorted(stalled)}


def _missing(workers: Sequence[str]) -> list[dict[str, object]]:
    if not workers:
        return []
    message = f"Lines of {', '.join(sorted(workers))} are missing: no usable answer within the time limit"
    now = int(time.time() * 1000)
    return [{"time": now, "level": "WARN", "task": None, "logger": __name__, "message": message}]

"""The history of offsets on this machine: one bounded JSONL file for each connector of a cluster.

An entry has the shape of a Headrace worker's `/offsets/history`, so that one function reads both.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tui.errors import HeadraceError
from tui.model import Offset
from tui.offsets import files
from tui.offsets.changes import changes
from tui.offsets.pending_changes import PendingChange

Json = Any
MAX_CHANGES = 20
"""Entries of each connector."""

MAX_FILE_BYTES = 64 * 2**20
"""The newest entry is kept whatever its size."""


class HistoryFiles:
    """The histories of one cluster's connectors."""

    def __init__(self, folder: Path, max_bytes: int = MAX_FILE_BYTES) -> None:
        self.folder, self._max_bytes = folder, max_bytes

    def read(self, name: str) -> list[Json]:
        """The entries, newest first; empty without changes. Raises HeadraceError."""
        try:
            return [json.loads(line) for line in reversed(self._lines(name))]
        except ValueError as error:
            raise HeadraceError(
                f"{self._path(name)} is damaged: {error}", "remove the damaged line, or the file"
            ) from error

    def add(self, pending: PendingChange) -> None:
        """Adds a completed change, unless it is the newest entry already or had no effect. Raises HeadraceError."""
        if not _has_effect(pending):
            return
        lines = self._lines(pending.plan.name)
        newest: Json = json.loads(lines[-1]) if lines else {"number": 0, "id": ""}
        if newest["id"] == pending.id:
            return
        lines.append(json.dumps(_entry(pending, newest["number"] + 1)))
        files.replace(self._path(pending.plan.name), "".join(f"{line}\n" for line in _bounded(lines, self._max_bytes)))

    def _lines(self, name: str) -> list[str]:
        path = self._path(name)
        with files.naming_file(path):
            try:
                return path.read_text("utf-8").splitlines()
            except FileNotFoundError:
                return []

    def _path(self, name: str) -> Path:
        return self.folder / f"{files.file_name(name)}.jsonl"


def _has_effect(pending: PendingChange) -> bool:
    """Whether the change had an effect; a change whose earlier offsets are unknown counts."""
    requested = [Offset(change.partition, change.after) for change in pending.plan.changes]
    return pending.before is None or bool(changes(pending.before, requested))


def _entry(pending: PendingChange, number: int) -> Json:
    return {
        "number": number,
        "time": pending.time,
        "action": pending.plan.action.value,
        "who": pending.who,
        "why": pending.plan.why,
        "before": [entry.entry() for entry in pending.before or ()],
        "after": [change.entry for change in pending.plan.changes],
        "id": pending.id,
    }


def _bounded(lines: list[str], max_bytes: int) -> list[str]:
    kept = lines[-MAX_CHANGES:]
    while len(kept) > 1 and sum(map(len, kept)) > max_bytes:
        del kept[0]
    return kept

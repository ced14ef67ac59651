"""What offsets were before each change, kept on disk: JSONL, a file for each connector of a cluster, bounded.

The shape is that of our worker's `/offsets/history`, so that both are read alike.
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
"""Changes of a connector."""

MAX_FILE_BYTES = 64 * 2**20
"""Bytes of a file; the newest change is kept whatever its size."""


class HistoryFiles:
    """Those of one cluster."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, name: str) -> list[Json]:
        """Newest first; empty when nothing was changed."""
        try:
            return [json.loads(line) for line in reversed(self._lines(name))]
        except ValueError as error:
            raise HeadraceError(f"{self._path(name)} is damaged: {error}", "remove the line, or the file") from error

    def add(self, pending: PendingChange) -> None:
        """The change was made. The same one again changes nothing, and what changed nothing is no change."""
        if not _is_change(pending):
            return
        lines = self._lines(pending.plan.name)
        newest: Json = json.loads(lines[-1]) if lines else {"number": 0, "id": ""}
        if newest["id"] == pending.id:
            return
        lines.append(json.dumps(_past(pending, newest["number"] + 1)))
        files.replace(self._path(pending.plan.name), "".join(f"{line}\n" for line in _bounded(lines)))

    def _lines(self, name: str) -> list[str]:
        path = self._path(name)
        with files.naming_file(path):
            try:
                return path.read_text("utf-8").splitlines()
            except FileNotFoundError:
                return []

    def _path(self, name: str) -> Path:
        return self.folder / f"{files.file_name(name)}.jsonl"


def _is_change(pending: PendingChange) -> bool:
    """What nobody knows the offsets before is taken for one."""
    wanted = [Offset(change.partition, change.after) for change in pending.plan.changes]
    return pending.before is None or bool(changes(pending.before, wanted))


def _past(pending: PendingChange, number: int) -> Json:
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


def _bounded(lines: list[str]) -> list[str]:
    kept = lines[-MAX_CHANGES:]
    while len(kept) > 1 and sum(map(len, kept)) > MAX_FILE_BYTES:
        del kept[0]
    return kept

"""The offset changes of a cluster that this machine has recorded: unfinished ones, and a history for each connector.

The history is a bounded JSONL file. An entry has the shape of a Headrace worker's `/offsets/history`, so that one
function reads both.
"""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tui import private_file
from tui.client.calls import RequestOrigin
from tui.errors import HeadraceError
from tui.model import Offset
from tui.offsets import files
from tui.offsets.changes import changes
from tui.offsets.pending_changes import PendingChange, PendingChanges
from tui.user_folders import state_folder

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
                return private_file.read(path).splitlines()
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


class ChangeStore:
    """`cluster` is its label: the context's name, or the URL. No file is created before the first change."""

    def __init__(self, folder: Path, cluster: str, who: str = "") -> None:
        self.cluster, self.who = cluster, who or _user()
        place = files.file_name(cluster.rstrip("/"))
        self.pending = PendingChanges(folder / "changes" / place)
        self.histories = HistoryFiles(folder / "history" / place)

    def origin(self, why: str) -> RequestOrigin:
        return RequestOrigin(self.who, why)


def change_store(cluster: str, environ: Mapping[str, str] = os.environ) -> ChangeStore:
    """The store in the user's state folder."""
    return ChangeStore(state_folder(environ), cluster)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in a container
        return str(os.getuid())

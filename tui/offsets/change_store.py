"""Changes of one cluster stored on this machine: pending changes and the history."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping
from pathlib import Path

from tui.client.calls import RequestOrigin
from tui.offsets import files
from tui.offsets.history import HistoryFiles
from tui.offsets.pending_changes import PendingChanges
from tui.user_folders import state_folder


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

"""Folders of the embedded cluster, by the XDG Base Directory Specification."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """Files of this machine's cluster: data, logs, process ids."""
    return _xdg("XDG_STATE_HOME", ".local/state") / "embedded"


def plugins_folder() -> Path:
    """The worker's `plugin.path`."""
    return state_folder() / "worker" / "plugins"


def _xdg(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    # The specification requires that relative paths are ignored.
    base = Path(value) if value.startswith("/") else Path.home() / fallback
    return base / "headrace"

"""Where the embedded cluster keeps its things, by the XDG rules."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """What can be fetched again: jars and the broker's class archive."""
    return _xdg("XDG_CACHE_HOME", ".cache")


def state_folder() -> Path:
    """What belongs to this machine's cluster: data, logs, process ids."""
    return _xdg("XDG_STATE_HOME", ".local/state") / "embedded"


def _xdg(variable: str, fallback: str) -> Path:
    value = os.environ.get(variable, "")
    # The XDG rules say that a relative path is to be ignored.
    base = Path(value) if value.startswith("/") else Path.home() / fallback
    return base / "headrace"

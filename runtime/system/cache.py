"""The user's home, and the folder of files that can be downloaded or created again, by the XDG Base Directory
Specification."""

from __future__ import annotations

import os
from pathlib import Path


def home_folder() -> Path:
    """The home directory; / for a user without one, as container runtimes set HOME for any uid."""
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def cache_folder() -> Path:
    """Jars, class archives and results of scans."""
    value = os.environ.get("XDG_CACHE_HOME", "")
    # The specification requires that relative paths are ignored.
    return (Path(value) if value.startswith("/") else home_folder() / ".cache") / "headrace"

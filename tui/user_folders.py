"""The user's folders for Headrace's files, by the XDG Base Directory Specification."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def config_folder(environ: Mapping[str, str]) -> Path:
    """Contexts, settings and themes, which the user edits."""
    return _folder(environ, "XDG_CONFIG_HOME", ".config")


def state_folder(environ: Mapping[str, str]) -> Path:
    """Files that only this machine has: the audit log, changes in progress, histories."""
    return _folder(environ, "XDG_STATE_HOME", ".local/state")


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Files that can be created again."""
    return _folder(environ, "XDG_CACHE_HOME", ".cache")


def _folder(environ: Mapping[str, str], variable: str, fallback: str) -> Path:
    value = environ.get(variable, "")
    # The specification requires that relative paths are ignored.
    base = Path(value) if value.startswith("/") else _home(environ) / fallback
    return base / "headrace"


def _home(environ: Mapping[str, str]) -> Path:
    """HOME if it is absolute: in a relative one, whoever writes to the current folder would configure the console.
    / for a user without a home, as container runtimes set HOME for any uid."""
    if (home := environ.get("HOME", "")).startswith("/"):
        return Path(home)
    import pwd

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir or "/")
    except KeyError:
        return Path("/")

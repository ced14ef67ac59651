"""The history of typed commands, kept across sessions, without the values of `--set`; lines that may contain another
secret are left out."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tui import private_file
from tui.scrubbing import scrubbed_line
from tui.user_folders import state_folder

MAX_LINES = 200
_SECRET = re.compile(r"pass|secret|token|credential|key|--header|--client-config", re.IGNORECASE)


def file(environ: Mapping[str, str] = os.environ) -> Path:
    """The file of the history, in the state folder."""
    return state_folder(environ) / "commands"


def load(path: Path) -> list[str]:
    """The stored lines, oldest first; empty if the file cannot be read."""
    with suppress(OSError, UnicodeDecodeError):
        return [scrubbed_line(line, settings=True) for line in private_file.read(path).splitlines()[-MAX_LINES:]]
    return []


def add(path: Path, line: str) -> None:
    """Adds a line and keeps those that other sessions have added. An error in writing does not affect the command."""
    if _SECRET.search(line) or not line.isprintable():
        return
    line = scrubbed_line(line, settings=True)
    with suppress(OSError), private_file.locked(path):
        lines = [*(stored for stored in load(path) if stored != line), line][-MAX_LINES:]
        private_file.store(path, "".join(f"{line}\n" for line in lines))

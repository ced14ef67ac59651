"""The history of typed commands, kept across sessions, without the values of `--set`; lines that may contain another
secret are left out."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

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
        return [scrubbed_line(line, settings=True) for line in path.read_text("utf-8").splitlines()[-MAX_LINES:]]
    return []


def add(path: Path, line: str) -> None:
    """Adds a line and keeps those that other sessions have added. An error in writing does not affect the command."""
    if _SECRET.search(line) or not line.isprintable():
        return
    line = scrubbed_line(line, settings=True)
    with suppress(OSError):
        lines = [*(one for one in load(path) if one != line), line][-MAX_LINES:]
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = path.with_name(f"{path.name}.{os.getpid()}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            out.write("".join(f"{one}\n" for one in lines))
        draft.replace(path)

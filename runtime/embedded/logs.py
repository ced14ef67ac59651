"""Log files of the parts: bounded in size, and their last words for error messages."""

from __future__ import annotations

from pathlib import Path

_LIMIT = 10 * 1024 * 1024


def rotate(log: Path) -> None:
    """Moves a log that has grown large aside; called before its writer starts."""
    if log.exists() and log.stat().st_size > _LIMIT:
        log.replace(log.with_name(log.name + ".1"))


def last_words(log: Path) -> str:
    """The last line that says something; stack frames do not."""
    if not log.exists():
        return "it said nothing"
    lines = log.read_text(errors="replace")[-20_000:].splitlines()
    said = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(("at ", "... "))]
    return said[-1] if said else "it said nothing"

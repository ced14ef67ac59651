"""Log files of the parts: bounded in size, and their last words for error messages."""

from __future__ import annotations

import re
from pathlib import Path

_LIMIT = 10 * 1024 * 1024
_TAIL = 50_000
_COMPLAINT = re.compile(r"\b(ERROR|FATAL|CRITICAL)\b|^(Caused by: )?[\w.$]+(Error|Exception|Refused)\b")


def open_log(log: Path) -> int:
    """Called before the log's writer starts: moves a large one aside, says where the new part begins."""
    if not log.exists():
        return 0
    size = log.stat().st_size
    if size <= _LIMIT:
        return size
    log.replace(log.with_name(log.name + ".1"))
    return 0


def last_words(log: Path, since: int = 0) -> str:
    """The last complaint that was logged behind `since`, else the last line; stack frames are neither."""
    if not log.exists():
        return "it said nothing"
    with log.open("rb") as file:
        file.seek(max(since, log.stat().st_size - _TAIL))
        lines = file.read().decode(errors="replace").splitlines()
    said = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(("at ", "... "))]
    complaints = [line for line in said if _COMPLAINT.search(line)]
    return (complaints or said or ["it said nothing"])[-1].removeprefix("Caused by: ")

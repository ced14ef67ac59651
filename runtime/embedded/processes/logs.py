"""Log files of processes: limited in size, and searched for the last error."""

from __future__ import annotations

import re
from pathlib import Path

_MAX_SIZE = 10 * 1024 * 1024
_TAIL_SIZE = 50_000
_ERROR_LINE = re.compile(r"\b(ERROR|FATAL|CRITICAL)\b|^(Caused by: )?[\w.$]+(Error|Exception|Refused)\b")


def open_log(log: Path) -> int:
    """Prepares a log before its writer starts: renames a large log. Returns the position of the next line."""
    if not log.exists():
        return 0
    size = log.stat().st_size
    if size <= _MAX_SIZE:
        return size
    log.replace(log.with_name(log.name + ".1"))
    return 0


def last_error(log: Path, since: int = 0) -> str:
    """The last error logged after position `since`, otherwise the last line; ignores stack frames."""
    if not log.exists():
        return "no output"
    with log.open("rb") as file:
        file.seek(max(since, log.stat().st_size - _TAIL_SIZE))
        lines = file.read().decode(errors="replace").splitlines()
    lines_logged = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(("at ", "... "))]
    errors = [line for line in lines_logged if _ERROR_LINE.search(line)]
    return (errors or lines_logged or ["no output"])[-1].removeprefix("Caused by: ")

"""Asking before a change: at the terminal of whoever typed the command, wherever the standard streams go."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from tui.errors import UsageError


def asker(is_script: bool) -> Callable[[str], bool]:
    """What answers questions: a person, or, where nobody is at a terminal and in scripts, yes."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return _ask if not is_script and any(stream.isatty() for stream in streams) else _nobody_to_ask


def _ask(question: str) -> bool:
    try:
        number = os.open(_terminal(), os.O_RDWR | os.O_NOCTTY)
    except OSError as error:
        raise UsageError(f"{question} there is no terminal to ask on: {error.strerror}", "add -y to confirm") from None
    with os.fdopen(number, "wb", 0, closefd=False) as out:
        out.write(f"{question} [y/N] ".encode("utf-8", "backslashreplace"))
    with os.fdopen(number, encoding="utf-8", errors="replace") as keys:
        return keys.readline().strip().lower() in ("y", "yes")


def _terminal() -> str:
    """Standard input's own, if it is one, else the one that the process belongs to."""
    return os.ttyname(sys.stdin.fileno()) if sys.stdin.isatty() else "/dev/tty"


def _nobody_to_ask(question: str) -> bool:
    return True

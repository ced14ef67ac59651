"""Asks for confirmation at the user's terminal, even when the standard streams are redirected."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from tui.errors import UsageError


def asker(is_script: bool) -> Callable[[str], bool]:
    """A function that asks the user at the terminal; without a terminal, and in scripts, it always answers yes."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return _ask if not is_script and any(stream.isatty() for stream in streams) else _always_yes


def _ask(question: str) -> bool:
    try:
        number = os.open(_terminal(), os.O_RDWR | os.O_NOCTTY)
    except OSError as error:
        raise UsageError(
            f"{question} cannot ask, since there is no terminal: {error.strerror}", "add -y to confirm"
        ) from None
    with os.fdopen(number, "wb", 0, closefd=False) as out:
        out.write(f"{question} [y/N] ".encode("utf-8", "backslashreplace"))
    with os.fdopen(number, encoding="utf-8", errors="replace") as keys:
        return keys.readline().strip().lower() in ("y", "yes")


def _terminal() -> str:
    """The terminal of standard input, otherwise the controlling terminal of the process."""
    return os.ttyname(sys.stdin.fileno()) if sys.stdin.isatty() else "/dev/tty"


def _always_yes(question: str) -> bool:
    return True

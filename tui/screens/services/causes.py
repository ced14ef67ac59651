"""The causes in a stack trace of Java's form."""

from __future__ import annotations

import re

from tui.widgets.text import visible_lines

CAUSED = "Caused by: "
_PACKAGE = re.compile(r"^(?:[A-Za-z_]\w*\.)+(?=\w+(?:\$\w+)*(?::|$))")


def chain(trace: str) -> list[str]:
    """The trace from its first line down to the root cause, one line each; further lines of a message are left out."""
    lines = visible_lines(trace)
    return [*lines[:1], *(line.removeprefix(CAUSED) for line in lines[1:] if line.startswith(CAUSED))]


def cause_line(trace: str) -> str:
    """The root cause in one line, without the package of its class; empty for an empty trace."""
    return _PACKAGE.sub("", chain(trace)[-1]) if trace else ""

"""The causes in a stack trace of Java's form."""

from __future__ import annotations

CAUSED = "Caused by: "


def chain(trace: str) -> list[str]:
    """The trace from its first line down to the root cause, one line each, as the worker sent it; further lines of a
    message are left out."""
    lines = trace.replace("\r\n", "\n").split("\n")
    return [*lines[:1], *(line.removeprefix(CAUSED) for line in lines[1:] if line.startswith(CAUSED))]


def cause_line(trace: str) -> str:
    """The root cause in one line, without the package of its class; empty for an empty trace."""
    if not trace:
        return ""
    name, colon, message = chain(trace)[-1].partition(":")
    package, _, cls = name.rpartition(".")
    is_class = cls.replace("$", "").isidentifier() and all(part.isidentifier() for part in package.split("."))
    return f"{cls if is_class else name}{colon}{message}"

"""Stack traces in the shape that users of Connect know: Java's first lines, then Python's stack."""

from __future__ import annotations

import traceback


def java_name(error: BaseException) -> str:
    """The class of an error as users of Connect know it, or Python's own."""
    kind = type(error)
    name: str | None = getattr(kind, "java_name", None)
    if name is not None:
        return name
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


LONGEST = 100_000
"""Characters of an error's message that are kept: what is longer is data, and would not fit where traces go."""


def message_of(error: BaseException) -> str:
    """What an error says; plugins raise what they like, also what cannot say anything."""
    try:
        text = str(error)
    except Exception as silent:
        return f"(its message cannot be told: {type(silent).__name__})"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def _headline(error: BaseException) -> str:
    name = java_name(error)
    text = message_of(error)
    return f"{name}: {text}" if text else name


def _causes(error: BaseException) -> list[BaseException]:
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and cause not in chain:
        chain.append(cause)
    return chain


def trace_of(error: BaseException) -> str:
    """`java.Name: message`, a `Caused by:` line for each cause, then where in the Python code it came from."""
    chain = _causes(error)
    lines = [_headline(chain[0]), *(f"Caused by: {_headline(cause)}" for cause in chain[1:])]
    frames = traceback.extract_tb(chain[-1].__traceback__)
    return "\n".join([*lines, *(f"\tat {frame.name}({frame.filename}:{frame.lineno})" for frame in frames)]) + "\n"

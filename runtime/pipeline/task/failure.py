"""Failures of tasks: their traces, and a failed record with its stage (KIP-298)."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from runtime.logs.formats import CUT_MARK


def java_name(error: BaseException) -> str:
    """The class name of an error in Java, or else in Python."""
    kind = type(error)
    name: str | None = getattr(kind, "java_name", None)
    if name is not None:
        return name
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


MAX_MESSAGE = 100_000
"""Maximum number of characters of an error's message: a longer one is data, and too large for a status record."""


def message_of(error: BaseException) -> str:
    """The message of an error, shortened. A plugin's exception may raise in __str__()."""
    try:
        text = str(error)
    except Exception as failed:  # str() of a third-party exception
        return f"(no message: str() raised {type(failed).__name__})"
    return text if len(text) <= MAX_MESSAGE else f"{text[:MAX_MESSAGE]}{CUT_MARK} ({len(text)} characters)"


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
    """`java.Name: message`, a `Caused by:` line for each cause, then the Python stack of the innermost cause."""
    chain = _causes(error)
    lines = [_headline(chain[0]), *(f"Caused by: {_headline(cause)}" for cause in chain[1:])]
    java_trace: str | None = getattr(chain[-1], "java_trace", None)
    if java_trace is not None:  # raised by a Java plugin: Python's stack shows only the call
        return "\n".join([*lines[:-1], ("Caused by: " if lines[1:] else "") + java_trace])
    frames = traceback.extract_tb(chain[-1].__traceback__)
    return "\n".join([*lines, *(f"\tat {frame.name}({frame.filename}:{frame.lineno})" for frame in frames)]) + "\n"


def drop_tracebacks(error: BaseException | None) -> None:
    """Drop the frames of an error that has been handled, and of the errors that led to it: confluent-kafka never frees
    some of its errors, and their frames would keep the task with its clients."""
    while error is not None and error.__traceback__ is not None:
        error.__traceback__ = None
        drop_tracebacks(error.__cause__)
        error = error.__context__


class RevokedError(Exception):
    """The task was revoked or its lease has expired: it ends immediately, without commit or report."""


class Stage(StrEnum):
    """The stage at which a record failed, as in Connect's error context."""

    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"
    TRANSFORMATION = "TRANSFORMATION"
    TASK_POLL = "TASK_POLL"
    TASK_PUT = "TASK_PUT"
    KAFKA_PRODUCE = "KAFKA_PRODUCE"


@dataclass(frozen=True, slots=True)
class Failure:
    """A failed record: its stage, plugin and error. `record` is the client's message (sinks) or the source record;
    `where` describes its position."""

    stage: Stage
    plugin: str
    error: Exception
    record: Any
    where: str

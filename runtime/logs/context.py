"""The context of log lines, as in Connect: `[name|task-0]` for a task, `[name|worker]` for the worker's own work."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

_context: ContextVar[str] = ContextVar("connector.context", default="")


def name(connector: str, task: int | None = None) -> str:
    """The context of a task, or of the worker's work for a connector."""
    return f"[{connector}|{'worker' if task is None else f'task-{task}'}]"


def enter(connector: str) -> None:
    """Set the context of all later lines of this asyncio task to a connector."""
    _context.set(name(connector))


def of_connector(connector: str) -> AbstractContextManager[None]:
    """Lines of this thread belong to the worker's work for a connector."""
    return _within(name(connector))


def of_task(connector: str, task: int) -> AbstractContextManager[None]:
    """Lines of this thread belong to a task."""
    return _within(name(connector, task))


@contextmanager
def _within(context: str) -> Iterator[None]:
    token = _context.set(context)
    try:
        yield
    finally:
        _context.reset(token)


def current() -> str:
    """The context of this asyncio task or thread, empty for none."""
    return _context.get()


def of(record: logging.LogRecord) -> str:
    """The context of a line, empty for none. Call it where the line is logged, as handlers are."""
    given = getattr(record, "context", None)
    return given if isinstance(given, str) else _context.get()


def parse(context: str) -> tuple[str, int | None] | None:
    """The connector and task of a context; None if it is not a context. A name may contain any character."""
    if not context.startswith("["):
        return None
    name, bar, part = context[1:].removesuffix("]").rpartition("|")
    if not bar:
        return None
    number = part.removeprefix("task-")
    return name, int(number) if part.startswith("task-") and number.isdigit() else None

"""Whose line it is: Connect's contexts, `[name|task-0]` for a task and `[name|worker]` for what a worker does."""

from __future__ import annotations

import logging
from contextvars import ContextVar

_context: ContextVar[str] = ContextVar("connector.context", default="")


def name(connector: str, task: int | None = None) -> str:
    """The context of a task, or of what the worker does for a connector."""
    return f"[{connector}|{'worker' if task is None else f'task-{task}'}]"


def enter(connector: str) -> None:
    """From here on this asyncio task logs for a connector."""
    _context.set(name(connector))


def of(record: logging.LogRecord) -> str:
    """The context of a line, empty for none. To be asked where the line was logged: handlers are called there."""
    given = getattr(record, "context", None)
    return given if isinstance(given, str) else _context.get()


def parse(context: str) -> tuple[str, int | None] | None:
    """Connector and task that a context names; a name may hold any character."""
    if not context.startswith("["):
        return None
    name, bar, part = context[1:].removesuffix("]").rpartition("|")
    if not bar:
        return None
    number = part.removeprefix("task-")
    return name, int(number) if part.startswith("task-") and number.isdigit() else None

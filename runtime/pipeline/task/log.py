"""Sends log lines of a task's thread to the worker; plugins and pipeline use the standard `logging`."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from runtime.logs import context, levels

if TYPE_CHECKING:
    from runtime.model.task_spec import TaskSpec


class LogReceiver(Protocol):
    """The part of a slot's host that receives log lines."""

    def log(self, level: str, logger: str, message: str, context: str) -> None:
        """A log line; `context` like `[name|task-0]`."""


_task: ContextVar[LogReceiver | None] = ContextVar("task", default=None)
_LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}


class _TaskHandler(logging.Handler):
    """Sends lines logged on a task's thread to the worker, with the task's name; ignores lines of other threads."""

    levels_given = False  # an operator has set levels, which are kept

    def emit(self, record: logging.LogRecord) -> None:
        host = _task.get()
        if host is None:
            return
        try:
            message = self.format(record)
        except Exception:  # as in logging.Handler
            self.handleError(record)
            return
        host.log(_LEVELS.get(record.levelname, record.levelname), record.name, message, context.current())


_handler = _TaskHandler()


def quiet(record: logging.LogRecord) -> bool:
    """A filter for a slot's other handlers: True for lines that do not belong to a task."""
    return _task.get() is None


def set_levels(wanted: Mapping[str, str]) -> None:
    """Set log levels, by logger."""
    _handler.levels_given = True
    levels.apply(wanted)


@contextmanager
def task_log(spec: TaskSpec, host: LogReceiver) -> Iterator[None]:
    """Sends lines logged by this thread to `host`, with the task's name in Connect's form."""
    root = logging.getLogger()
    if _handler not in root.handlers:
        root.addHandler(_handler)
        if not _handler.levels_given:
            root.setLevel(min(root.level or logging.INFO, logging.INFO))
    token = _task.set(host)
    try:
        with context.of_task(spec.connector, spec.task):
            yield
    finally:
        _task.reset(token)

"""Limits for log lines that others can cause as often as they like."""

from __future__ import annotations

import logging
from collections.abc import Callable

from runtime.logs.formats import MAX_RAW_LINE, cut

PERIOD = 60.0
"""Seconds."""

BURST = 10
"""Warnings that are logged in a period."""


MAX_LOGGERS = 10_000
"""Loggers of this process: they are never removed."""

_MAX_NAME = 1_000  # characters of the name of a logger or a context


def log_line(level: str, logger: str, message: str, context: str, most_loggers: int = MAX_LOGGERS) -> None:
    """Log a line that another process has sent, which may have any size, and any number of loggers."""
    number = logging.getLevelNamesMapping().get(level, logging.INFO)
    log = _logger(logger[:_MAX_NAME], most_loggers)
    log.log(number, "%s", cut(message, MAX_RAW_LINE), extra={"context": context[:_MAX_NAME]})


def _logger(name: str, most: int) -> logging.Logger:
    """The logger of this name; the root logger for new names when there are too many."""
    known = logging.root.manager.loggerDict
    return logging.getLogger(name if name in known or len(known) < most else None)


class LimitedWarnings:
    """Logs at most BURST warnings in each PERIOD, and in the next period how many were left out. For one thread."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float]) -> None:
        self._log, self._clock = log, clock
        self._start = float("-inf")
        self._count = 0

    def warn(self, text: str, *arguments: object) -> None:
        """Log a warning, or count it."""
        now = self._clock()
        if now - self._start >= PERIOD:
            left_out = self._count - BURST
            self._start, self._count = now, 0
            if left_out > 0:
                self._log.warning("%d further warnings of this kind were left out", left_out)
        self._count += 1
        if self._count <= BURST:
            self._log.warning(text, *arguments)

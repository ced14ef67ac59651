"""Log lines as text, in Connect's form, and as JSON, an object a line (`headrace.log.format`)."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime

from runtime.logs import context

Scrub = Callable[[str], str]
"""Takes secrets out of a text."""

FIELDS = "fields"
"""Attribute of structured lines, such as the audit log's: names and values. They hold no secrets and are not scrubbed,
since a secret equal to a field would falsify the line."""

_LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}


def level_of(record: logging.LogRecord) -> str:
    """Connect's name of a level."""
    return _LEVELS.get(record.levelname, record.levelname)


class TextFormat(logging.Formatter):
    """`[2026-01-31 12:00:00,123] INFO [name|task-0] message (logger)`, traces on lines of their own."""

    def __init__(self, scrub: Scrub) -> None:
        super().__init__()
        self._scrub = scrub

    def format(self, record: logging.LogRecord) -> str:
        whose = context.of(record)
        blank = " " if whose else ""
        line = f"[{self.formatTime(record)}] {level_of(record)} {whose}{blank}{record.getMessage()} ({record.name})"
        if hasattr(record, FIELDS):
            return line
        trace = trace_of(record, self)
        return self._scrub(f"{line}\n{trace}" if trace else line)


class JsonFormat(logging.Formatter):
    """One object a line, whatever the message holds; `connector` and `task` only where the line is theirs."""

    def __init__(self, scrub: Scrub) -> None:
        super().__init__()
        self._scrub = scrub

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {"time": time, "level": level_of(record), "logger": record.name}
        if whose := context.parse(context.of(record)):
            line["connector"] = whose[0]
            if whose[1] is not None:
                line["task"] = whose[1]
        if fields := getattr(record, FIELDS, None):
            return json.dumps({**line, "message": record.getMessage(), **fields})
        line["message"] = self._scrub(record.getMessage())
        if trace := trace_of(record, self):
            line["trace"] = self._scrub(trace)
        return json.dumps(line)  # escapes: a line must not depend on the stream's encoding


FORMATS: dict[str, Callable[[Scrub], logging.Formatter]] = {"text": TextFormat, "json": JsonFormat}


def trace_of(record: logging.LogRecord, formatter: logging.Formatter) -> str:
    """The trace that was logged with a line; empty for none."""
    return formatter.formatException(record.exc_info) if record.exc_info and record.exc_info[0] else ""


def to_stderr(log_format: str, scrub: Scrub) -> None:
    """All lines from INFO on go to standard error; libraries only speak when something is wrong."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FORMATS[log_format](scrub))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # runtime.kafka says what matters of it

"""Output of log lines (`headrace.log.format`): text as in Connect, or a JSON object for each line."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from runtime.logs import context

MAX_LINE = 64 * 1024
"""The most characters of a line that are shown, traces included."""

MAX_RAW_LINE = 2 * MAX_LINE
"""The most characters or bytes of a line that are kept before secrets are hidden in it: a secret that ends beyond the
part that is shown is still found."""

MAX_TRACE = 128 * 1024
"""The most characters of a trace in a status: with all of them escaped as JSON, the brokers' default limit of a record
is not reached."""

MAX_RAW_TRACE = 8 * MAX_TRACE
"""As MAX_RAW_LINE, for traces."""

CUT_MARK = " [line cut]"
GAP_MARK = f"{CUT_MARK} …\n"
"""As CUT_MARK, where the end of the text follows."""


def cut(text: str, longest: int = MAX_LINE) -> str:
    """The beginning of a text, with a mark if more follows. If secrets have not been hidden yet, half a secret may be
    beside the mark: runtime.config.secret_values hides the characters there."""
    return text if len(text) <= longest else text[:longest] + CUT_MARK


def cut_trace(trace: str, longest: int = MAX_TRACE) -> str:
    """The beginning and the end of a trace, which names the innermost cause of Java's exceptions. As cut()."""
    if len(trace) <= longest:
        return trace
    return f"{trace[: longest // 2]}{GAP_MARK}{trace[-(longest // 2) :]}"


class OutputLines:
    """Splits chunks into lines. Only the beginning of a long line is kept, so that output without line ends takes
    limited memory and time."""

    def __init__(self, longest: int = MAX_RAW_LINE) -> None:
        self._longest = longest
        self._rest = bytearray()
        self._skipping = False  # the beginning of this line has been returned already

    def feed(self, chunk: bytes) -> Iterator[str]:
        """The lines that this chunk completes."""
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            yield from self._append(end)
            if not self._skipping:
                yield self._take()
            self._skipping = False
        yield from self._append(rest)

    def close(self) -> Iterator[str]:
        """The last line, if it has no line end."""
        if self._rest:
            yield self._take()

    def _append(self, part: bytes) -> Iterator[str]:
        if self._skipping:
            return
        self._rest += part
        if len(self._rest) > self._longest:
            del self._rest[self._longest :]
            self._skipping = True
            yield self._take() + CUT_MARK

    def _take(self) -> str:
        line = self._rest.decode(errors="replace")
        self._rest.clear()
        return line


Scrub = Callable[[str], str]
"""Removes secrets from a text."""

ScrubOf = Callable[[str, str], str]
"""Removes secrets from a text about a connector, whose name is given first."""

FIELDS = "fields"
"""Attribute of structured lines, such as the audit log's: names and values. They contain no secrets and are not
scrubbed, since a secret that is equal to a field would falsify the line."""

_LEVELS = {"WARNING": "WARN", "CRITICAL": "FATAL"}


def level_of(record: logging.LogRecord) -> str:
    """Connect's name of a level."""
    return _LEVELS.get(record.levelname, record.levelname)


class TextFormat(logging.Formatter):
    """`[2026-01-31 12:00:00,123] INFO [name|task-0] message (logger)`, followed by the lines of a trace."""

    def __init__(self, scrub: Scrub) -> None:
        super().__init__()
        self._scrub = scrub

    def format(self, record: logging.LogRecord) -> str:
        owner = context.of(record)
        blank = " " if owner else ""
        line = f"[{self.formatTime(record)}] {level_of(record)} {owner}{blank}{record.getMessage()} ({record.name})"
        if hasattr(record, FIELDS):
            return line
        trace = trace_of(record, self)
        return cut(self._scrub(f"{line}\n{trace}" if trace else line))


class JsonFormat(logging.Formatter):
    """A JSON object on one line; `connector` and `task` only if the line has a context."""

    def __init__(self, scrub: Scrub) -> None:
        super().__init__()
        self._scrub = scrub

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, object] = {"time": time, "level": level_of(record), "logger": record.name}
        if owner := context.parse(context.of(record)):
            line["connector"] = owner[0]
            if owner[1] is not None:
                line["task"] = owner[1]
        if fields := getattr(record, FIELDS, None):
            return json.dumps({**line, "message": record.getMessage(), **fields})
        line["message"] = cut(self._scrub(record.getMessage()))
        if trace := trace_of(record, self):
            line["trace"] = cut(self._scrub(trace))
        return json.dumps(line)  # ASCII only, so that the line does not depend on the stream's encoding


FORMATS: dict[str, Callable[[Scrub], logging.Formatter]] = {"text": TextFormat, "json": JsonFormat}


def trace_of(record: logging.LogRecord, formatter: logging.Formatter) -> str:
    """The stack trace of a line; empty for none."""
    return formatter.formatException(record.exc_info) if record.exc_info and record.exc_info[0] else ""


def to_stderr(log_format: str, scrub: Scrub) -> None:
    """Write all lines of level INFO and above to standard error; of libraries, only warnings and errors."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FORMATS[log_format](scrub))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for library in ("uvicorn", "httpx"):
        logging.getLogger(library).setLevel(logging.WARNING)
    logging.getLogger("kafka").setLevel(logging.CRITICAL)  # runtime.kafka logs its errors in our wording

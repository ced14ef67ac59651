"""The last log lines of each connector and of its tasks in the slots, for GET /connectors/{name}/logs."""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from dataclasses import asdict, dataclass

from runtime.logs import context
from runtime.logs.formats import ScrubOf, cut, level_of, trace_of

MAX_LINES = 500
"""The most lines that are kept for a connector."""

_MAX_CHARS = 64 * 1024  # of all lines of a connector
_MAX_LINE_CHARS = 8 * 1024  # of one line
_MAX_CONNECTORS = 2_000  # beyond these, the connector without new lines for the longest time is dropped


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line; `task` is None for the worker's own work."""

    time: int  # milliseconds since 1970
    level: str
    task: int | None
    logger: str
    message: str


@dataclass(slots=True)
class _Kept:
    """The lines of one connector."""

    lines: deque[LogLine]
    chars: int = 0

    def add(self, line: LogLine) -> None:
        self.lines.append(line)
        self.chars += len(line.message)
        while len(self.lines) > MAX_LINES or self.chars > _MAX_CHARS:
            self.chars -= len(self.lines.popleft().message)


class ConnectorLines(logging.Handler):
    """Keeps lines that are logged in a connector's context, from any thread."""

    def __init__(self, scrub: ScrubOf) -> None:
        super().__init__()
        self._scrub = scrub
        self._traces = logging.Formatter()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    def last(self, connector: str, lines: int, task: int | None = None) -> list[dict[str, object]]:
        """The newest `lines` lines, oldest first; with `task`, only lines of this task."""
        self.acquire()
        try:
            kept = self._kept.get(connector)
            matching = [x for x in kept.lines if task is None or x.task == task] if kept else []
        finally:
            self.release()
        return [asdict(line) for line in matching[max(len(matching) - lines, 0) :]]

    def emit(self, record: logging.LogRecord) -> None:
        owner = context.parse(context.of(record))
        if owner is None:
            return
        try:
            message, trace = record.getMessage(), trace_of(record, self._traces)
        except Exception:  # as in logging.Handler
            self.handleError(record)
            return
        name, task = owner
        text = self._scrub(name, f"{message}\n{trace}" if trace else message)
        kept = self._kept.setdefault(name, _Kept(deque()))
        self._kept.move_to_end(name)
        kept.add(LogLine(int(record.created * 1000), level_of(record), task, record.name, cut(text, _MAX_LINE_CHARS)))
        if len(self._kept) > _MAX_CONNECTORS:
            self._kept.popitem(last=False)

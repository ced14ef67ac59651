"""Time slices: windows of time, each read by requests of its own."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runtime.api.errors import ConfigError

_ZERO = dt.datetime(2001, 1, 1, tzinfo=dt.UTC)
_UNITS = (
    dt.timedelta(microseconds=1), dt.timedelta(milliseconds=1), dt.timedelta(seconds=1), dt.timedelta(minutes=1),
    dt.timedelta(hours=1), dt.timedelta(days=1),
)  # fmt: skip


def _milliseconds(time: dt.datetime) -> int:
    return (time - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(milliseconds=1)


_FORMATS: dict[str, Callable[[dt.datetime], Any]] = {
    "iso": lambda time: time.strftime("%Y-%m-%dT%H:%M:%SZ"),
    "date": lambda time: time.strftime("%Y-%m-%d"),
    "epoch": lambda time: _milliseconds(time) // 1000,
    "epoch-ms": _milliseconds,
}


class TimeFormat:
    """How an API writes times: `iso`, `date`, `epoch`, `epoch-ms`, or a format of strftime with %."""

    def __init__(self, text: str) -> None:
        """Raises ConfigError for an unknown format, or one that does not tell one day from the next."""
        if "%" not in text and text not in _FORMATS:
            raise ConfigError(f"must be {', '.join(_FORMATS)} or a format of strftime such as %Y-%m-%d %H:%M")
        self.write: Callable[[dt.datetime], Any] = _FORMATS.get(text) or (lambda time: time.strftime(text))
        """The time as text, or as a number for epochs."""
        if self.write(_ZERO) == self.write(_ZERO + _UNITS[-1]):
            raise ConfigError("must contain the day")
        self.unit = next(unit for unit in _UNITS if self.write(_ZERO) != self.write(_ZERO + unit))
        """The smallest difference of times that it can express."""

    def floor(self, time: dt.datetime) -> dt.datetime:
        """The last time up to this one that the format can express."""
        return time - (time - _ZERO) % self.unit


@dataclass(frozen=True)
class Slices:
    """The windows of a stream, from `start` on. `lookback`: how far a poll begins before the end of the last one.
    `delay`: the time before now that is not read yet."""

    start: dt.datetime
    step: dt.timedelta
    format: TimeFormat
    lookback: dt.timedelta
    delay: dt.timedelta

    def limit(self, now: dt.datetime) -> dt.datetime:
        """The end of the last window of a poll that begins now."""
        return self.format.floor(now - self.delay)

    def window(self, start: str | None, limit: dt.datetime) -> tuple[str, str] | None:
        """The window that starts at a time (default: the first one), and its end; None if it would be empty."""
        begin = self.start if start is None else parse_time(start)
        end = min(begin + self.step, limit)
        return (write_time(begin), write_time(end)) if begin < end else None

    def next_poll(self, end: str) -> str:
        """The start of the next poll after the window with this end."""
        return write_time(max(self.start, self.format.floor(parse_time(end) - self.lookback)))

    def values(self, start: str, end: str) -> dict[str, Any]:
        """The values of the placeholders."""
        until = parse_time(end)
        times = {"slice.start": parse_time(start), "slice.end": until, "slice.last": until - self.format.unit}
        return {name: self.format.write(time) for name, time in times.items()}


SLICE_NAMES = ("slice.start", "slice.end", "slice.last")
"""The placeholders; the last one is for APIs whose end is inclusive."""


def parse_time(text: str) -> dt.datetime:
    """A time in ISO 8601, in UTC without a zone; ValueError if it is not one."""
    time = dt.datetime.fromisoformat(text)
    return time.replace(tzinfo=dt.UTC) if time.tzinfo is None else time.astimezone(dt.UTC)


def write_time(time: dt.datetime) -> str:
    """The time in ISO 8601, as in offsets."""
    return time.isoformat().replace("+00:00", "Z")

"""Numbers, durations and messages as text for people."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from datetime import UTC, datetime

CELL_LENGTH, MESSAGE_LENGTH = 1000, 8000  # characters
# For a character class: characters that take no space, look like a blank, or reorder text.
INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\U000e0000-\U000e007f"
)

# Editors split lines at some of them, and terminals reorder or join what others surround.
_UNEDITABLE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{INVISIBLE}\ud800-\udfff]")


def editable(text: str) -> str:
    """JSON or properties with `\\u2028` and the like for characters that would not remain as they are in an editor."""
    return _UNEDITABLE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def utc_time(milliseconds: float) -> str:
    """A time in milliseconds since 1970: `2026-11-24 07:05:09Z`."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def local_time(milliseconds: float) -> str:
    """A local time, with its zone unless that is UTC: `2026-11-24 08:05:09.123+01:00`. As a position it is the same
    time."""
    at = datetime.fromtimestamp(milliseconds / 1000, UTC).astimezone()
    text = at.isoformat(" ", "milliseconds")
    return text if at.utcoffset() else text[:-6]


def day_time(milliseconds: float) -> str:
    """A local time in milliseconds since 1970, with its date: `2026-11-24 08:05:09`."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(milliseconds / 1000))


def short_time(at: float) -> str:
    """A local time in seconds since 1970: `14:02:11`, or `11-27 14:02` if it is not of today."""
    then = time.localtime(at)
    return time.strftime("%H:%M:%S" if then[:3] == time.localtime(time.time())[:3] else "%m-%d %H:%M", then)


def clock_time(at: float, now: float) -> str:
    """A local time in seconds since 1970 with its distance: `12:03:04 (4 min ago)`; of another day, with the date."""
    form = "%H:%M:%S" if now - at < 86_400 else "%Y-%m-%d %H:%M"
    return f"{time.strftime(form, time.localtime(at))} ({format_duration(now - at)} ago)"


def cut(text: str, length: int = CELL_LENGTH) -> str:
    """At most `length` characters; a cut text ends with an ellipsis."""
    return text if len(text) <= length else text[: length - 1] + "…"


def one_line(text: str) -> str:
    """The text on one line; each run of white space becomes one blank."""
    return " ".join(text.split())


def joined_lines(text: str) -> str:
    """The lines of a message on one line, separated by `;` unless a line ends in punctuation."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "".join(line + (" " if line[-1] in ":;,.!?" else "; ") for line in lines[:-1]) + "".join(lines[-1:])


def short(number: int) -> str:
    """A number in at most five characters: `1,234`, `12.3k`, `123k`, `4.5M`."""
    if number < 10**4:
        return f"{number:,}"
    for size, unit in ((10**12, "T"), (10**9, "G"), (10**6, "M")):
        if number >= size:
            return f"{number / size:.1f}{unit}" if number < 100 * size else f"{number // size:,}{unit}"
    return f"{number / 1000:.1f}k" if number < 10**5 else f"{number // 1000}k"


def megabytes(size: int) -> str:
    """A number of bytes: `105 MB`."""
    return f"{size // 1_000_000} MB"


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 task`, `3 tasks`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def format_duration(seconds: float) -> str:
    """A duration in its largest unit: `8 s`, `4 min`, `3 h`, `2 d`."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`did you mean NAME?`, with up to two similar names; empty if there are none. Case does not matter."""
    from difflib import get_close_matches

    by_lower = {word.lower(): word for word in known}
    close = [by_lower[match] for match in get_close_matches(name.lower(), list(by_lower), 2, 0.7)]
    return f"did you mean {' or '.join(close)}?" if close else ""

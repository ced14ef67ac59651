"""Java's properties format, parsed with the position of each value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple


class Property(NamedTuple):
    """A key with its value; `line` and the value's `column` count from 1."""

    key: str
    value: str
    line: int
    column: int


def entries(text: str) -> Iterator[Property]:
    """Parses properties. `#` and `!` start comments; `=`, `:` or a blank ends a key; `\\` escapes or continues."""
    for number, line, indent in _logical_lines(text):
        end = _key_end(line)
        rest = line[end:].lstrip(" \t\f")
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(" \t\f")
        column = indent + len(line) - len(rest) + 1
        yield Property(_unescape(line[:end]), _unescape(rest.rstrip(" \t")), number, column)


def serialized(config: Mapping[str, str]) -> str:
    """The config as properties, one line for each key."""
    return "".join(f"{_escape_key(key)}={_escape_value(value)}\n" for key, value in config.items())


_LINE_END = re.compile(r"\r\n|\r|\n")


def _logical_lines(text: str) -> Iterator[tuple[int, str, int]]:
    """Number, text and indentation of each logical line, without comments and blank lines."""
    kept, start, depth = "", 0, 0
    for number, raw in enumerate(_LINE_END.split(text), 1):
        line = raw.lstrip(" \t\f")
        if not kept:
            if not line or line[0] in "#!":
                continue
            start, depth = number, len(raw) - len(line)
        if (len(line) - len(line.rstrip("\\"))) % 2:
            kept += line[:-1]
            continue
        yield start, kept + line, depth
        kept = ""
    if kept:
        yield start, kept, depth


def _key_end(line: str) -> int:
    at = 0
    while at < len(line) and line[at] not in "=: \t\f":
        at += 2 if line[at] == "\\" else 1
    return min(at, len(line))


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.)|$)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(lambda m: chr(int(m[1], 16)) if m[1] else _LETTERS.get(m[2] or "", m[2] or ""), text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _escape_key(text: str) -> str:
    escaped = re.sub(r"([\\=: ])", r"\\\1", text)
    return _lines(f"\\{escaped}" if escaped[:1] in ("#", "!") else escaped)


def _escape_value(text: str) -> str:
    """Escapes the value, including blanks at its ends, which a reader would strip."""
    escaped = text.replace("\\", "\\\\")
    if escaped[:1] == " ":
        escaped = f"\\u0020{escaped[1:]}"
    if escaped[-1:] == " ":
        escaped = f"{escaped[:-1]}\\u0020"
    return _lines(escaped)


def _lines(text: str) -> str:
    for letter, char in _LETTERS.items():
        text = text.replace(char, f"\\{letter}")
    return text

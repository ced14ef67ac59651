"""Java's .properties format: reads worker and connector files, writes those of the processes that the worker starts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANK = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")


class PropertiesError(Exception):
    """A properties file cannot be read; the message names the file, the line and the remedy."""


def load(path: Path) -> dict[str, str]:
    """Keys and values of a file, in order; the last value of a repeated key wins. PropertiesError if the file cannot be
    read."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise PropertiesError(f"{path}: no such file") from None
    except OSError as e:
        raise PropertiesError(f"{path}: cannot be read: {e.strerror}") from None
    return decode(content, str(path))


def decode(content: bytes, name: str) -> dict[str, str]:
    """As load(), for the content of a file of this name."""
    return parse(_text(content), name)


def _text(content: bytes) -> str:
    """UTF-8 if the bytes are valid, else ISO 8859-1: Java always reads ISO 8859-1, which garbles UTF-8 files."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def parse(text: str, origin: str = "properties") -> dict[str, str]:
    """Keys and values of properties text; `origin` names the text in errors. PropertiesError if it is invalid."""
    result = {}
    for number, line in _logical_lines(text):
        key, value = _split(line)
        try:
            result[_unescape(key)] = _unescape(value)
        except ValueError:
            raise PropertiesError(f"{origin}:{number}: malformed \\uXXXX escape; write a backslash as \\\\") from None
    return result


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with continuations joined, without comments and blank lines; numbered from 1."""
    start, parts = 0, ""
    for number, raw in enumerate(_LINE_END.split(text), 1):
        line = raw.lstrip(_BLANK)
        if not parts and (not line or line[0] in "#!"):
            continue
        start = start if parts else number
        if _ends_in_continuation(line):
            parts += line[:-1]
            continue
        yield start, parts + line
        parts = ""
    if parts:
        yield start, parts


def _ends_in_continuation(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _split(line: str) -> tuple[str, str]:
    """Key and value, separated by the first unescaped `=`, `:` or blank."""
    i = 0
    while i < len(line) and line[i] not in "=:" + _BLANK:
        i += 2 if line[i] == "\\" else 1
    rest = line[i:].lstrip(_BLANK)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANK)
    return line[:i], rest


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    out, i = [], 0
    while i < len(text):
        c = text[i]
        if c != "\\" or i + 1 == len(text):
            out.append(c if c != "\\" else "")
            i += 1
        elif text[i + 1] == "u":
            digits = text[i + 2 : i + 6]
            if len(digits) < 4:
                raise ValueError(digits)
            out.append(chr(int(digits, 16)))
            i += 6
        else:
            out.append(_ESCAPES.get(text[i + 1], text[i + 1]))
            i += 2
    return "".join(out).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def with_prefix(properties: Mapping[str, str], prefix: str) -> dict[str, str]:
    """The properties whose keys begin with the prefix, without it."""
    return {key[len(prefix) :]: text for key, text in properties.items() if key.startswith(prefix)}


def comma_separated(text: str) -> list[str]:
    """The elements of a list, without white space around them; empty elements are left out."""
    return [element for part in text.split(",") if (element := part.strip())]


def dump(properties: Mapping[str, object]) -> str:
    """The text of a file, in ASCII: Java reads ISO 8859-1, Headrace UTF-8."""
    return "".join(f"{_escaped(key)}={_escaped(str(value))}\n" for key, value in properties.items())


def _escaped(text: str) -> str:
    """Escaped for a Java properties file."""
    special = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", " ": "\\ ", "=": "\\=", ":": "\\:"}
    return "".join(special.get(char, char) if char.isascii() else _unicode_escape(char) for char in text)


def _unicode_escape(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))

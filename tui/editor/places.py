"""JSON that remembers where each value stands, so that an error can point at its line and column."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

Json = Any
Path = tuple[str | int, ...]

_BLANK = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_WORD = re.compile(r"[A-Za-z_]\w*|[-+.\w]+")
_LITERALS: dict[str, Json] = {"true": True, "false": False, "null": None}
_DEPTH = 64


class TextPosition(NamedTuple):
    """Line and column, counted from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}" if self.line else ""


NO_POSITION = TextPosition(0, 0)  # of a key that is not in the text


class JsonError(ValueError):
    """What is wrong, and where."""

    def __init__(self, message: str, place: TextPosition) -> None:
        super().__init__(message)
        self.message, self.place = message, place


@dataclass(slots=True)
class ParsedJson:
    """A value, and the place of every value inside by its path: `("offsets", 0, "offset")`."""

    value: Json
    places: dict[Path, TextPosition] = field(default_factory=dict)

    def place(self, path: Path) -> TextPosition:
        """Of the value there, or of the nearest one around it."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, TextPosition(1, 1))


def parse(text: str) -> ParsedJson:
    """Raises BadJson. Stricter than Python: no NaN, no key twice, nothing after the value."""
    return _Reader(text).document()


def place_of(text: str, at: int) -> TextPosition:
    before = text.rfind("\n", 0, at)
    return TextPosition(text.count("\n", 0, at) + 1, at - before)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.places: dict[Path, int] = {}

    def document(self) -> ParsedJson:
        value = self.value(())
        if self.peek():
            raise self.wrong("there is more text after the end of the document")
        return ParsedJson(value, self._found())

    def _found(self) -> dict[Path, TextPosition]:
        """Offsets into places, in one pass over the lines."""
        found, line, start, text = {}, 1, 0, self.text
        for path, at in sorted(self.places.items(), key=lambda item: item[1]):
            while (end := text.find("\n", start, at)) >= 0:
                line, start = line + 1, end + 1
            found[path] = TextPosition(line, at - start + 1)
        return found

    def wrong(self, message: str, at: int | None = None) -> JsonError:
        return JsonError(message, place_of(self.text, self.at if at is None else at))

    def peek(self) -> str:
        """The next character that is no blank; empty at the end."""
        self.at = _BLANK.match(self.text, self.at).end()  # type: ignore[union-attr]
        return self.text[self.at : self.at + 1]

    def value(self, path: Path) -> Json:
        char = self.peek()
        self.places[path] = self.at
        if len(path) > _DEPTH:
            raise self.wrong("nested too deeply")
        if char == "{":
            return self.object(path)
        if char == "[":
            return self.array(path)
        if char == '"':
            return self.string()
        return self.number() if char and char in "-0123456789" else self.literal()

    def object(self, path: Path) -> dict[str, Json]:
        opened = self.at
        found: dict[str, Json] = {}
        self.at += 1
        while self.peek() != "}":
            if found:
                self.comma(opened, "}")
            if self.peek() != '"':
                raise self.wrong('a key in double quotes is expected, like "position"')
            start = self.at
            key = self.string()
            if key in found:
                raise self.wrong(f'the key "{key}" is there twice', start)
            if self.peek() != ":":
                raise self.wrong(f'a colon is expected after the key "{key}"')
            self.at += 1
            found[key] = self.value((*path, key))
        self.at += 1
        return found

    def array(self, path: Path) -> list[Json]:
        opened = self.at
        found: list[Json] = []
        self.at += 1
        while self.peek() != "]":
            if found:
                self.comma(opened, "]")
            found.append(self.value((*path, len(found))))
        self.at += 1
        return found

    def comma(self, opened: int, closing: str) -> None:
        char = self.peek()
        if not char:
            raise self.wrong(f"the {self.text[opened]} opened here is never closed by {closing}", opened)
        if char != ",":
            raise self.wrong(f"a comma or {closing} is expected")
        comma, self.at = self.at, self.at + 1
        if self.peek() == closing:
            raise self.wrong(f"a comma before {closing}: take it away", comma)

    def string(self) -> str:
        start = self.at
        try:
            text, self.at = scanstring(self.text, start + 1, True)
        except JSONDecodeError as error:
            if error.msg.startswith("Unterminated"):
                raise self.wrong("this text has no closing quote", start) from None
            if error.msg.startswith("Invalid control"):
                raise self.wrong("a line break or tab inside quotes: write \\n or \\t", error.pos) from None
            raise self.wrong(error.msg, error.pos) from None
        return str(text)

    def number(self) -> int | float:
        match = _NUMBER.match(self.text, self.at)
        word = _WORD.match(self.text, self.at)
        if match is None or (word is not None and word.end() > match.end()):
            raise self.wrong(f"{word[0] if word else self.text[self.at]!r} is no number")
        if len(match[0]) > 400:
            raise self.wrong("this number is too long")
        self.at = match.end()
        return float(match[0]) if match[1] or match[2] else int(match[0])

    def literal(self) -> Json:
        word = _WORD.match(self.text, self.at)
        if word is not None and word[0] in _LITERALS:
            self.at = word.end()
            return _LITERALS[word[0]]
        if word is not None:
            raise self.wrong(f"{word[0]} is no JSON value: text stands in double quotes")
        if self.at >= len(self.text):
            raise self.wrong("the text ends where a value is expected")
        raise self.wrong(f"a value is expected, found {self.text[self.at]!r}")

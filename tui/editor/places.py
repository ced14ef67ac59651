"""A JSON parser that keeps the position of each value, so that errors can point at a line and column."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from json.decoder import JSONDecodeError, scanstring  # type: ignore[attr-defined]  # missing in typeshed
from typing import Any, NamedTuple, NoReturn

Json = Any
Path = tuple[str | int, ...]

_BLANK = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_WORD = re.compile(r"[A-Za-z_]\w*|[-+.\w]+")
_LITERALS: dict[str, Json] = {"true": True, "false": False, "null": None}
_DEPTH, _DIGITS = 64, 400


class TextPosition(NamedTuple):
    """Line and column, counted from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}" if self.line else ""


NO_POSITION = TextPosition(0, 0)  # the position of a key that is not in the text


class JsonError(ValueError):
    """A syntax error with its position."""

    def __init__(self, message: str, place: TextPosition) -> None:
        super().__init__(message)
        self.message, self.place = message, place


@dataclass(frozen=True)
class ParsedJson:
    """A value, and its text, in which the positions of nested values are found once one is needed."""

    value: Json
    text: str

    @cached_property
    def _places(self) -> dict[Path, TextPosition]:
        """The position of every nested value by its path, such as `("offsets", 0, "offset")`."""
        return _Reader(self.text).positions()

    def place(self, path: Path) -> TextPosition:
        """The position of the value at the path, or of the nearest enclosing value."""
        while path and path not in self._places:
            path = path[:-1]
        return self._places.get(path, TextPosition(1, 1))


def parse(text: str) -> ParsedJson:
    """Parses JSON. Raises JsonError; stricter than Python's json: NaN and duplicate keys are errors."""
    try:  # a valid text is read in C, since that of 50,000 offsets takes seconds here
        value = json.loads(
            text, parse_constant=_refuse, parse_float=_finite, parse_int=_integer, object_pairs_hook=_unique
        )
        _check_depth(value, _DEPTH)
    except (ValueError, RecursionError):  # the reader finds the position
        value = _Reader(text).document()
    return ParsedJson(value, text)


def _refuse(text: str) -> NoReturn:
    raise ValueError(text)


def _finite(text: str) -> float:
    number = float(text)
    return number if len(text) <= _DIGITS and math.isfinite(number) else _refuse(text)


def _integer(text: str) -> int:
    return int(text) if len(text) <= _DIGITS else _refuse(text)


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else _refuse("duplicate key")


def _check_depth(value: Json, levels: int) -> None:
    nested: Iterable[Json] = ()
    if isinstance(value, dict):
        nested = value.values()
    elif isinstance(value, list):
        nested = value
    for item in nested:
        if levels == 0:
            _refuse("nested too deeply")
        if isinstance(item, dict | list):
            _check_depth(item, levels - 1)


def position_at(text: str, at: int) -> TextPosition:
    before = text.rfind("\n", 0, at)
    return TextPosition(text.count("\n", 0, at) + 1, at - before)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.places: dict[Path, int] = {}

    def document(self) -> Json:
        value = self.value(())
        if self.peek():
            raise self.error("unexpected text after the end of the document")
        return value

    def positions(self) -> dict[Path, TextPosition]:
        """The position of each value; character offsets are converted in one pass over the lines."""
        self.document()
        positions, line, start, text = {}, 1, 0, self.text
        for path, at in sorted(self.places.items(), key=lambda item: item[1]):
            while (end := text.find("\n", start, at)) >= 0:
                line, start = line + 1, end + 1
            positions[path] = TextPosition(line, at - start + 1)
        return positions

    def error(self, message: str, at: int | None = None) -> JsonError:
        return JsonError(message, position_at(self.text, self.at if at is None else at))

    def peek(self) -> str:
        """Skips blanks and returns the next character; empty at the end."""
        self.at = _BLANK.match(self.text, self.at).end()  # type: ignore[union-attr]  # the pattern matches everywhere
        return self.text[self.at : self.at + 1]

    def value(self, path: Path) -> Json:
        char = self.peek()
        self.places[path] = self.at
        if len(path) > _DEPTH:
            raise self.error("nested too deeply")
        if char == "{":
            return self.object(path)
        if char == "[":
            return self.array(path)
        if char == '"':
            return self.string()
        return self.number() if char and char in "-0123456789" else self.literal()

    def object(self, path: Path) -> dict[str, Json]:
        opened = self.at
        members: dict[str, Json] = {}
        self.at += 1
        while self.peek() != "}":
            if members:
                self.comma(opened, "}")
            if self.peek() != '"':
                raise self.error("expected a key in double quotes")
            start = self.at
            key = self.string()
            if key in members:
                raise self.error(f'duplicate key "{key}"', start)
            if self.peek() != ":":
                raise self.error(f'expected a colon after the key "{key}"')
            self.at += 1
            members[key] = self.value((*path, key))
        self.at += 1
        return members

    def array(self, path: Path) -> list[Json]:
        opened = self.at
        items: list[Json] = []
        self.at += 1
        while self.peek() != "]":
            if items:
                self.comma(opened, "]")
            items.append(self.value((*path, len(items))))
        self.at += 1
        return items

    def comma(self, opened: int, closing: str) -> None:
        char = self.peek()
        if not char:
            raise self.error(f"this {self.text[opened]} has no closing {closing}", opened)
        if char != ",":
            raise self.error(f"expected a comma or {closing}")
        comma, self.at = self.at, self.at + 1
        if self.peek() == closing:
            raise self.error(f"trailing comma before {closing}: remove it", comma)

    def string(self) -> str:
        start = self.at
        try:
            text, self.at = scanstring(self.text, start + 1, True)
        except JSONDecodeError as error:
            if error.msg.startswith("Unterminated"):
                raise self.error("this string has no closing quote", start) from None
            if error.msg.startswith("Invalid control"):
                if self.text[error.pos] in "\r\n":
                    raise self.error("no closing quote on this line (a line break is \\n)", start) from None
                raise self.error("tab or other control character inside quotes: write \\t", error.pos) from None
            raise self.error(error.msg, error.pos) from None
        return str(text)

    def number(self) -> int | float:
        match = _NUMBER.match(self.text, self.at)
        word = _WORD.match(self.text, self.at)
        if match is None or (word is not None and word.end() > match.end()):
            raise self.error(f"{word[0] if word else self.text[self.at]!r} is not a number")
        if len(match[0]) > _DIGITS:
            raise self.error("this number is too long")
        self.at = match.end()
        if not match[1] and not match[2]:
            return int(match[0])
        if math.isinf(number := float(match[0])):
            raise self.error("this number is too large", match.start())
        return number

    def literal(self) -> Json:
        word = _WORD.match(self.text, self.at)
        if word is not None and word[0] in _LITERALS:
            self.at = word.end()
            return _LITERALS[word[0]]
        if word is not None:
            raise self.error(f"{word[0]} is not a JSON value: strings need double quotes")
        if self.at >= len(self.text):
            raise self.error("unexpected end of the text: expected a value")
        raise self.error(f"expected a value, found {self.text[self.at]!r}")

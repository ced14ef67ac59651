"""Replacement texts of java.util.regex.Matcher."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from runtime.api.errors import IllegalArgumentError, NoSuchGroupError

if TYPE_CHECKING:
    import regex

_NAME = re.compile(r"[A-Za-z0-9]+")
_DIGITS = "0123456789"


class Replacement:
    """A replacement of Matcher.replaceFirst(): `$1`, `${name}`, and a backslash before literal characters."""

    def __init__(self, text: str) -> None:
        self._text = text

    def expand(self, match: regex.Match[str]) -> str:
        """The replacement for a match; IllegalArgumentError or NoSuchGroupError if it is invalid."""
        text, parts, position = self._text, [], 0
        while position < len(text):
            char = text[position]
            if char == "\\":
                position += 1
                if position == len(text):
                    raise IllegalArgumentError("character to be escaped is missing")
                parts.append(text[position])
                position += 1
            elif char == "$":
                group, position = self._group(match, position + 1)
                parts.append(group or "")
            else:
                parts.append(char)
                position += 1
        return "".join(parts)

    def _group(self, match: regex.Match[str], start: int) -> tuple[str | None, int]:
        text = self._text
        if start == len(text):
            raise IllegalArgumentError("Illegal group reference: group index is missing")
        if text[start] == "{":
            return self._named(match, start + 1)
        if text[start] not in _DIGITS:
            raise IllegalArgumentError("Illegal group reference")
        number, end = int(text[start]), start + 1
        groups = match.re.groups
        if number > groups:
            raise NoSuchGroupError(f"No group {number}")
        while end < len(text) and text[end] in _DIGITS and number * 10 + int(text[end]) <= groups:
            number, end = number * 10 + int(text[end]), end + 1
        return match[number], end

    def _named(self, match: regex.Match[str], start: int) -> tuple[str | None, int]:
        name_match = _NAME.match(self._text, start)
        name = name_match[0] if name_match is not None else ""
        end = start + len(name)
        if not name:
            raise IllegalArgumentError("named capturing group has 0 length name")
        if self._text[end : end + 1] != "}":
            raise IllegalArgumentError("named capturing group is missing trailing '}'")
        if name[0] in _DIGITS:
            raise IllegalArgumentError(f"capturing group name {{{name}}} starts with digit character")
        if name not in match.re.groupindex:
            raise IllegalArgumentError(f"No group with name {{{name}}}")
        return match[name], end + 1

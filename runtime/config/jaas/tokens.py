"""The tokens of a JAAS configuration, as java.io.StreamTokenizer reads them: Kafka and the JDK use it for theirs.

Its rules surprise: a slash without quotes comments the rest of the line, a word that begins with a digit, a dot or a
hyphen is a number and so no value, and a quoted text ends with its line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_DIGITS = "0123456789"
_NUMERIC = f"{_DIGITS}.-"


@dataclass(frozen=True, slots=True)
class JaasToken:
    """`kind` is `word`, `number`, the quote of a quoted text, or a single character; `text` is None without a value."""

    kind: str
    text: str | None = None


def tokens(text: str, words: str = "_$-") -> Iterator[JaasToken]:
    """`words`: characters that belong to words in addition to letters."""
    at = 0
    while (at := _skip(text, at)) < len(text):
        token, at = _token(text, at, words)
        yield token


def _token(text: str, at: int, words: str) -> tuple[JaasToken, int]:
    first = text[at]
    if first in _NUMERIC and (end := _number(text, at)) > at:
        return JaasToken("number"), end
    if first in _NUMERIC:  # a hyphen alone, also where it may be within words
        return JaasToken(first), at + 1
    if _begins_word(first, words):
        end = at
        while end < len(text) and (_begins_word(text[end], words) or text[end] in _NUMERIC):
            end += 1
        return JaasToken("word", text[at:end]), end
    if first in "\"'":
        value, end = _quoted(text, at + 1, first)
        return JaasToken(first, value), end
    return JaasToken(first), at + 1


def _begins_word(char: str, words: str) -> bool:
    return "a" <= char <= "z" or "A" <= char <= "Z" or char >= "\xa0" or char in words


def _skip(text: str, at: int) -> int:
    """The index of the next token, behind blanks and comments."""
    while at < len(text):
        if text[at] <= " ":
            at += 1
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            at = len(text) if end < 0 else end + 2
        elif text[at] == "/":
            at += 2  # without a second slash the next character is skipped, too, even if it ends the line
            while at < len(text) and text[at] not in "\r\n":
                at += 1
        else:
            break
    return at


def _number(text: str, at: int) -> int:
    """The index behind the number; `at` if there is only a hyphen."""
    end = at + (text[at] == "-")
    if end > at and text[end : end + 1] not in tuple(f"{_DIGITS}."):
        return at
    dots = 0
    while end < len(text) and (text[end] in _DIGITS or (text[end] == "." and not dots)):
        dots += text[end] == "."
        end += 1
    return end


def _quoted(text: str, at: int, quote: str) -> tuple[str, int]:
    """The value, and the index behind it."""
    value = []
    while at < len(text) and text[at] not in (quote, "\n", "\r"):
        if text[at] != "\\":
            value.append(text[at])
            at += 1
            continue
        char, at = _escaped(text, at + 1)
        value.append(char)
    return "".join(value), at + (text[at : at + 1] == quote)


def _escaped(text: str, at: int) -> tuple[str, int]:
    """The character for what follows a backslash: up to three octal digits, a letter, or itself."""
    if at == len(text):
        return "\uffff", at
    end = at
    limit = at + (3 if text[at] in "0123" else 2)
    while end < min(limit, len(text)) and text[end] in "01234567":
        end += 1
    if end > at:
        return chr(int(text[at:end], 8)), end
    return _ESCAPES.get(text[at], text[at]), at + 1

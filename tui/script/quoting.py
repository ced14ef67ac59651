"""Partially typed lines: the last word, its open quote, and the escaping of what follows."""

from __future__ import annotations

import re
from typing import NamedTuple


class Dialect(NamedTuple):
    """The characters that a backslash escapes in double and single quotes, and those that need quoting."""

    escaped_in_double: str
    special: re.Pattern[str]
    escaped_in_single: str = ""

    def escapes(self, quote: str, char: str) -> bool:
        """Whether a backslash escapes the character inside this quote, or outside quotes if it is empty."""
        return not quote or char in (self.escaped_in_double if quote == '"' else self.escaped_in_single)


OURS = Dialect('"\\', re.compile(r"""[\s'"\\]"""))  # the dialect of tui.script.grammar
SHELL = Dialect('"\\$`', re.compile(r"[^\w@%+=:,./-]"))
FISH = Dialect('"\\$', SHELL.special, "'\\")


class PartialLine(NamedTuple):
    """A partial line, without an incomplete escape at its end, its complete words, and the text of the last one."""

    line: str
    before: tuple[str, ...]
    start: int  # the start of the last word
    text: str
    quote: str  # the open quote, or empty

    def with_last(self, word: str, dialect: Dialect = OURS) -> str:
        """The line with the last word completed to `word`, and its quote closed."""
        if self.start == len(self.line):
            return self.line + quoted(word)
        return self.line + escaped(word[len(self.text) :], self.quote, dialect) + self.quote


def unfinished(line: str, dialect: Dialect = OURS) -> PartialLine:
    """Splits a partial line; an open quote is allowed."""
    words: list[str] = []
    text = quote = ""
    start = at = 0
    while at < len(line):
        char = line[at]
        if not quote and char.isspace():
            words += [text] if at > start else []
            text, start = "", at + 1
        elif char == "\\" and dialect.escapes(quote, line[at + 1 : at + 2]):
            at += 1
            if at == len(line):
                return PartialLine(line[:-1], tuple(words), start, text, quote)
            text += line[at]
        elif char == quote:
            quote = ""
        elif not quote and char in "'\"":
            quote = char
        else:
            text += char
        at += 1
    return PartialLine(line, tuple(words), start, text, quote)


def quoted(word: str) -> str:
    """The word, quoted if a shell or the grammar of commands requires it."""
    if word and not SHELL.special.search(word):
        return word
    return f"'{escaped(word, chr(39))}'"


def escaped(text: str, quote: str, dialect: Dialect = OURS) -> str:
    """The text escaped for use inside this quote, or outside quotes if it is empty."""
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote == '"':
        inside = "".join("\\" + char if char in dialect.escaped_in_double else char for char in text)
        return inside.replace("!", "\"'!'\"") if dialect is SHELL else inside  # bash expands ! in double quotes
    return dialect.special.sub(r"\\\g<0>", text)

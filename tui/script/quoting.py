"""A line that is still being typed: where its last word begins, what that means so far, and how it may go on."""

from __future__ import annotations

import re
from typing import NamedTuple


class Dialect(NamedTuple):
    """What a backslash frees in double and in single quotes, and what must not stand bare."""

    freed: str
    special: re.Pattern[str]
    freed_in_single: str = ""

    def frees(self, quote: str, char: str) -> bool:
        return not quote or char in (self.freed if quote == '"' else self.freed_in_single)


OURS = Dialect('"\\', re.compile(r"""[\s'"\\]"""))  # tui.script.grammar's
SHELL = Dialect('"\\$`', re.compile(r"[^\w@%+=:,./-]"))
FISH = Dialect('"\\$', SHELL.special, "'\\")


class PartialLine(NamedTuple):
    """`line` without a backslash that frees nothing yet; the words before the last, and what the last one is so far."""

    line: str
    before: tuple[str, ...]
    start: int  # where the last word begins
    text: str
    quote: str  # the quote that is open, or nothing

    def with_last(self, word: str, dialect: Dialect = OURS) -> str:
        """The whole line with the last word made `word`, of which `text` is the beginning; a quote is closed."""
        if self.start == len(self.line):
            return self.line + quoted(word)
        return self.line + escaped(word[len(self.text) :], self.quote, dialect) + self.quote


def unfinished(line: str, dialect: Dialect = OURS) -> PartialLine:
    """Never an error: whatever is open stays open."""
    words: list[str] = []
    text = quote = ""
    start = at = 0
    while at < len(line):
        char = line[at]
        if not quote and char.isspace():
            words += [text] if at > start else []
            text, start = "", at + 1
        elif char == "\\" and dialect.frees(quote, line[at + 1 : at + 2]):
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
    """As one whole word, in quotes where a shell would want them; our lines then mean the same."""
    if word and not SHELL.special.search(word):
        return word
    return f"'{escaped(word, chr(39))}'"


def escaped(text: str, quote: str, dialect: Dialect = OURS) -> str:
    """What is written for `text` where this quote is open, or none is."""
    if quote == "'":
        return text.replace("'", "'\\''")
    if quote == '"':
        free = "".join("\\" + char if char in dialect.freed else char for char in text)
        return free.replace("!", "\"'!'\"") if dialect is SHELL else free  # bash's history reads double quotes too
    return dialect.special.sub(r"\\\g<0>", text)

"""Folding of long lines between words, with a hanging indent."""

from __future__ import annotations

import re

_SECOND_COLUMN = re.compile(r"\s*\S.*?\s{2,}(?=\S)")
HANGING_INDENT = 4  # cells, for a usage line


def folded(text: str, width: int) -> str:
    """The text folded to `width` cells at blanks, or else after commas and bars; longer words are kept whole."""
    return "\n".join(part for line in text.split("\n") for part in _fold(line, max(width, 20)))


def _fold(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    column = _SECOND_COLUMN.match(line)
    if column is not None and column.end() <= width * 2 // 3:
        return _parts(line, width, column.end(), column.end(), " ")
    indent = len(line) - len(line.lstrip())
    if line.endswith("."):
        return _parts(line, width, indent, indent, " ")
    return _parts(line, width, indent, indent + HANGING_INDENT, " [")


def _parts(line: str, width: int, start: int, hang: int, before: str) -> list[str]:
    """The line cut before `before`, or else at any blank, always to the right of `start`."""
    parts: list[str] = []
    while len(line) > width:
        cut = line.rfind(before, start + 1, width + 1)
        cut = cut if cut > 0 else line.rfind(" ", start + 1, width + 1)
        cut = cut if cut > 0 else max(line.rfind(sign, start, width) for sign in ",|") + 1
        if cut <= start:
            break
        parts.append(line[:cut].rstrip())
        line, start = " " * hang + line[cut:].lstrip(), hang
    return [*parts, line]

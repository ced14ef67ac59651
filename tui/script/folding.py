"""Long lines folded between words, with what follows set in below what it belongs to."""

from __future__ import annotations

import re

_SECOND_COLUMN = re.compile(r"\s*\S.*?\s{2,}(?=\S)")
HANGS = 4  # cells, for a line of usage


def folded(text: str, width: int) -> str:
    """Each line within `width` cells, cut at blanks, or else behind commas and bars; a longer word is left as it is."""
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
    return _parts(line, width, indent, indent + HANGS, " [")


def _parts(line: str, width: int, start: int, hang: int, before: str) -> list[str]:
    """Cut `before` these, or else at any blank; never in what stands left of `start`."""
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

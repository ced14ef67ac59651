"""Server text made safe for display: no markup, no cursor movement, no other control characters."""

from __future__ import annotations

import re

from rich.cells import cell_len, set_cell_size

from tui.formatting import INVISIBLE, cut

MAX_DRAWN = 1 << 16  # characters

# Control characters, line separators, invisible marks that reorder or join text, and lone surrogates.
_HARMFUL = re.compile("[\x00-\x1f\x7f-\x9f" + INVISIBLE + "\ud800-\udfff]")


def visible(text: str) -> str:
    """One line with visible control characters: `\\n` as ␊, others as ␀…␡ or �. A text longer than any screen is cut:
    a response may hold a name of megabytes."""
    return _HARMFUL.sub(_picture, cut(text, MAX_DRAWN))


def visible_lines(text: str) -> list[str]:
    """The lines of a text, each as by `visible`, but with blanks for tabs, which traces contain."""
    return [visible(line.replace("\t", "    ")) for line in text.replace("\r\n", "\n").split("\n")]


def _picture(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else "�"


def fit(text: str, width: int, right: bool = False, middle: bool = False) -> str:
    """The text in exactly `width` cells: padded, or cut with an ellipsis at the end or in the middle."""
    if width <= 0:
        return ""
    length = len(text) if text.isascii() else cell_len(text)
    if length > width:
        tail = _tail(text, (width - 1) // 2) if middle else ""
        cut = set_cell_size(text, width - 1 - cell_len(tail)).rstrip() + "…" + tail
        return cut + " " * (width - cell_len(cut))
    blanks = " " * (width - length)
    return blanks + text if right else text + blanks


def _tail(text: str, width: int) -> str:
    """The end of the text that fits into `width` cells."""
    tail = text[len(text) - width :]
    while cell_len(tail) > width:
        tail = tail[1:]
    return tail

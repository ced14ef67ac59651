"""Terminals whose locale is not UTF-8: characters that its encoding lacks are drawn as similar ones of ASCII."""

from __future__ import annotations

import codecs
from io import TextIOWrapper
from typing import TextIO

from rich.cells import cell_len

_ERRORS = "headrace-similar"
_SIMILAR = {
    **dict.fromkeys("●○", "*"), "✗": "x", "×": "x", "✓": "v", "✚": "+", "■": "#", "‖": "=", "↻": "~", "…": ".",
    **dict.fromkeys("‐–—―−", "-"),
    **dict.fromkeys("▉▊▋▌▍▎▏█│┤", "|"), **dict.fromkeys("─┴┬", "-"), **dict.fromkeys("╭╮╰╯└┘┌┐├┼", "+"),
    **dict.fromkeys("→↳►▸›", ">"), **dict.fromkeys("←⏎", "<"), "↑": "^", **dict.fromkeys("↓▾", "v"),
    "±": "+", "·": ".", "•": "*",
    **dict.fromkeys("▁▂▃", "_"), **dict.fromkeys("▄▅▆▇", "="),
}  # fmt: skip


def draw_similar_characters(stream: TextIO | None) -> None:
    """Replaces each character that the stream's encoding lacks by one that takes as many cells, so that lines keep
    their width."""
    if isinstance(stream, TextIOWrapper) and not stream.encoding.lower().startswith("utf"):
        codecs.register_error(_ERRORS, _similar)
        stream.reconfigure(errors=_ERRORS)


def _similar(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(_SIMILAR.get(char, "?" * cell_len(char)) for char in lacking), error.end

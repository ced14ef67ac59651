"""Two JSON documents side by side, with marks on the lines that differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any

WIDTH = 60
"""The maximum columns of each side; longer lines are cut."""


def side_by_side(left: Any, right: Any) -> Iterator[str]:
    """Lines of `left  | right`, marked `|` if they differ, `<` if only on the left, `>` if only on the right."""
    old, new = _document(left), _document(right)
    width = min(WIDTH, max(map(len, old), default=0))
    for one, other, mark in _aligned(old, new):
        yield f"{_cut(one or '', width):<{width}}  {mark} {_cut(other or '', WIDTH)}".rstrip()


def _aligned(old: list[str], new: list[str]) -> Iterator[tuple[str | None, str | None, str]]:
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for one, other in zip_longest(old[a:b], new[c:d]):
            mark = " " if kind == "equal" else "<" if other is None else ">" if one is None else "|"
            yield one, other, mark


def _document(value: Any) -> list[str]:
    return json.dumps(value, indent=1, ensure_ascii=False).splitlines()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"

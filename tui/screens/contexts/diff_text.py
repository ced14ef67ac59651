"""The differences of a connector between two clusters as text: side by side, or as lines of a diff."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest

from rich.cells import cell_len, chop_cells
from textual.content import Content

from tui.config.changes import ConfigChange, changes
from tui.config.comparison import HERE, THERE, ConnectorDifference
from tui.config.secrets import MASK, hides
from tui.widgets.text import fit, visible

UNSET = "(not set)"
GAP = 2  # cells between columns
Part = str | tuple[str, str]


def keys_of(
    one: ConnectorDifference, here: Mapping[str, str] | None, there: Mapping[str, str] | None
) -> Sequence[ConfigChange]:
    """The keys to show: those that differ, or the whole config of a connector that only one cluster has."""
    if one.kind == HERE:
        return [change._replace(before=change.after, after=None) for change in changes({}, here or {})]
    return changes({}, there or {}) if one.kind == THERE else one.changes


def in_columns(
    made: Sequence[ConfigChange], contexts: tuple[str, str], width: int, passwords: Collection[str] = ()
) -> Content:
    """A table of the keys with their values in both contexts, secrets masked, long values folded."""
    key = min(max((cell_len(visible(one.key)) for one in made), default=0), max(16, width // 3))
    left = max(8, (width - key - 2 * GAP) // 2)
    right = max(8, width - key - 2 * GAP - left)
    parts: list[Part] = [(_row(("KEY", *map(str.upper, contexts)), (key, left, right)), "bold $text-muted"), "\n"]
    for one in made:
        before, after = (_value(one.key, value, passwords) for value in (one.before, one.after))
        texts = (visible(one.key), before, after)
        inks = ("bold", _ink(one.before, "$error"), _ink(one.after, "$success"))
        folded = [chop_cells(text, size) or [""] for text, size in zip(texts, (key, left, right), strict=True)]
        for line in zip_longest(*folded, fillvalue=""):
            for text, ink, size in zip(line, inks, (key, left, right), strict=True):
                parts += [(fit(text, size), ink), " " * GAP]
            parts[-1] = "\n"
    return Content.assemble(*parts)


def _value(key: str, value: str | None, passwords: Collection[str]) -> str:
    if value is None:
        return UNSET
    return MASK if hides(key, value, passwords) else visible(value)


def _ink(value: str | None, ink: str) -> str:
    return "$text-muted" if value is None else ink


def _row(texts: Sequence[str], sizes: Sequence[int]) -> str:
    return (" " * GAP).join(fit(visible(text), size) for text, size in zip(texts, sizes, strict=True))

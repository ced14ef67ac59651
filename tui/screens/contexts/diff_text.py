"""The differences of a connector between two clusters as text: side by side, or as lines of a diff."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest

from rich.cells import cell_len, chop_cells
from textual.content import Content

from tui.config.changes import ConfigChange, changes
from tui.config.comparison import HERE, THERE, ConnectorDifference
from tui.config.secrets import masked
from tui.offsets import offset_differences
from tui.offsets.offset_differences import NO_OFFSET, OffsetDifference
from tui.widgets.text import fit, visible

UNSET = "(not set)"
GAP = 2  # cells between columns
MAX_OFFSETS = 50  # partitions shown
Part = str | tuple[str, str]
Row = tuple[str, str, str]


def keys_of(
    difference: ConnectorDifference, here: Mapping[str, str] | None, theirs: Mapping[str, str] | None
) -> Sequence[ConfigChange]:
    """The keys to show: those that differ, or the whole config of a connector that only one cluster has."""
    if difference.kind == HERE:
        return [change._replace(before=change.after, after=None) for change in changes({}, here or {})]
    return changes({}, theirs or {}) if difference.kind == THERE else difference.changes


def config_rows(changes: Sequence[ConfigChange], passwords: Collection[str]) -> list[Row]:
    """The keys with their values in both contexts, secrets masked; `passwords` are the keys of type PASSWORD."""

    def text(key: str, value: str | None) -> str:
        return UNSET if value is None else masked(key, value, passwords) or ""

    return [(change.key, text(change.key, change.before), text(change.key, change.after)) for change in changes]


def in_columns(headings: Row, rows: Sequence[Row], width: int) -> Content:
    """A table of a name and its values in both contexts, long values folded; equal values are muted."""
    key = min(max((cell_len(visible(name)) for name, _, _ in rows), default=0), max(16, width // 3))
    left = max(8, (width - key - 2 * GAP) // 2)
    right = max(8, width - key - 2 * GAP - left)
    sizes = key, left, right
    parts: list[Part] = [(_row([text.upper() for text in headings], sizes), "bold $text-muted"), "\n"]
    for row in rows:
        styles = ("bold", _style(row, 1, "$error"), _style(row, 2, "$success"))
        folded = [chop_cells(visible(text), size) or [""] for text, size in zip(row, sizes, strict=True)]
        for line in zip_longest(*folded, fillvalue=""):
            for text, style, size in zip(line, styles, sizes, strict=True):
                parts += [(fit(text, size), style), " " * GAP]
            parts[-1] = "\n"
    return Content.assemble(*parts)


def offsets(differences: Sequence[OffsetDifference] | str, contexts: tuple[str, str], width: int) -> Content:
    """The offsets of both contexts, those that differ first; a text says why they are not known."""
    if isinstance(differences, str):
        return Content.assemble(("\noffsets  ", "bold"), (visible(differences), "$text-muted"))
    head = Content.assemble(("\noffsets  ", "bold"), (offset_differences.summary(differences), "$text-muted"), "\n")
    if not differences:
        return head
    rows = [difference.texts for difference in differences[:MAX_OFFSETS]]
    more = f"and {len(differences) - MAX_OFFSETS:,} more\n" if len(differences) > MAX_OFFSETS else ""
    return Content.assemble(head, in_columns(("PARTITION", *contexts), rows, width), (more, "$text-muted"))


def _style(row: Row, column: int, style: str) -> str:
    return "$text-muted" if row[1] == row[2] or row[column] in (UNSET, NO_OFFSET) else style


def _row(texts: Sequence[str], sizes: Sequence[int]) -> str:
    return (" " * GAP).join(fit(visible(text), size) for text, size in zip(texts, sizes, strict=True))

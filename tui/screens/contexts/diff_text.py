"""The differences of a connector between two clusters as text: side by side, or as lines of a diff."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from textual.content import Content

from tui.config.changes import ConfigChange, changes
from tui.config.comparison import HERE, THERE, ConnectorDifference
from tui.config.secrets import masked
from tui.offsets import offset_differences
from tui.offsets.offset_differences import NO_OFFSET, OffsetDifference
from tui.screens.base.side_by_side import Row, in_columns
from tui.widgets.text import visible

UNSET = "(not set)"
MAX_OFFSETS = 50  # partitions shown


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


def configs(contexts: tuple[str, str], rows: Sequence[Row], width: int) -> Content:
    """The keys with their values in both contexts, side by side."""
    return in_columns(("KEY", *contexts), rows, width, UNSET)


def offsets(differences: Sequence[OffsetDifference] | str, contexts: tuple[str, str], width: int) -> Content:
    """The offsets of both contexts, those that differ first; a text says why they are not known."""
    if isinstance(differences, str):
        return Content.assemble(("\noffsets  ", "bold"), (visible(differences), "$text-muted"))
    head = Content.assemble(("\noffsets  ", "bold"), (offset_differences.summary(differences), "$text-muted"), "\n")
    if not differences:
        return head
    rows = [difference.texts for difference in differences[:MAX_OFFSETS]]
    more = f"and {len(differences) - MAX_OFFSETS:,} more\n" if len(differences) > MAX_OFFSETS else ""
    return Content.assemble(head, in_columns(("PARTITION", *contexts), rows, width, NO_OFFSET), (more, "$text-muted"))

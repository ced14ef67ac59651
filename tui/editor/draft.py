"""A text being edited: what it is based on, what is wrong with it, what it would change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tui.editor.checks import CheckedOffsets, check
from tui.model import Connector, Offset
from tui.offsets import partitions
from tui.offsets.bounds import NO_BOUNDS, Bounds
from tui.offsets.changes import OffsetChange, changes, left_out, same_offset
from tui.offsets.plan import OffsetPlan


class OffsetDraft(NamedTuple):
    """`base` are the offsets it began with; `ran`: the connector may have moved on by itself since then."""

    connector: Connector
    base: tuple[Offset, ...]
    text: str
    ran: bool
    why: str = ""  # for the history
    counted: tuple[OffsetChange, ...] = ()  # changes of which somebody knows what they mean in records
    bounds: Bounds = NO_BOUNDS  # of the topics, where somebody knows them

    @property
    def is_touched(self) -> bool:
        return self.text != fresh(self.connector, self.base).text

    def typed(self, text: str) -> OffsetDraft:
        return self._replace(text=text)

    def rebased(self, base: Sequence[Offset]) -> OffsetDraft:
        """On what the server has now; the text stays."""
        return self._replace(base=tuple(base), ran=_runs(self.connector))

    def onto(self, now: Sequence[Offset]) -> OffsetDraft:
        """Applies the same changes to the current offsets; text that cannot be parsed stays unchanged."""
        found = self.review()
        if tuple(now) == self.base or found.checked.errors:
            return self.rebased(now)
        return of_changes(self.connector, now, found.changes, self.why)._replace(bounds=self.bounds)

    def with_connector(self, connector: Connector) -> OffsetDraft:
        return self._replace(connector=connector, ran=self.ran or _runs(connector))

    def review(self) -> OffsetReview:
        checked = check(self.text, self.connector, self.base)
        made = () if checked.errors else self._made(checked.entries)
        stays = () if checked.errors else tuple(left_out(self.base, checked.entries))
        return OffsetReview(checked, made, stays)

    def _made(self, entries: Sequence[Offset]) -> tuple[OffsetChange, ...]:
        return self.bounds.remarked(map(self._with_effect, changes(self.base, entries)))

    def plan(self, made: Sequence[OffsetChange]) -> OffsetPlan:
        return OffsetPlan(self.connector.name, self.base, tuple(made), self.connector.state, self.ran, why=self.why)

    def _with_effect(self, change: OffsetChange) -> OffsetChange:
        """As long as it still is the same change."""
        key = partitions.key(change.partition)
        for one in self.counted:
            if partitions.key(one.partition) == key and same_offset(one.before, change.before):
                is_it = same_offset(one.after, change.after)
                return replace(change, effect=one.effect, remark=one.remark) if is_it else change
        return change


class OffsetReview(NamedTuple):
    """What there is to say about a draft."""

    checked: CheckedOffsets
    changes: tuple[OffsetChange, ...]
    left_out: tuple[Offset, ...]

    @property
    def may_be_applied(self) -> bool:
        return not self.checked.errors and bool(self.changes)


def fresh(connector: Connector, base: Sequence[Offset]) -> OffsetDraft:
    text = partitions.document(base) if base else partitions.template(connector)
    return OffsetDraft(connector, tuple(base), text, _runs(connector))


def of_changes(
    connector: Connector, base: Sequence[Offset], made: Sequence[OffsetChange], why: str = ""
) -> OffsetDraft:
    """A draft that has these changes in it already: an undo, a journey in time."""
    wanted = {partitions.key(entry.partition): entry for entry in base}
    for change in made:
        wanted[partitions.key(change.partition)] = Offset(change.partition, change.after)
    counted = tuple(change for change in made if change.effect is not None)
    return OffsetDraft(connector, tuple(base), partitions.document(wanted.values()), _runs(connector), why, counted)


def _runs(connector: Connector) -> bool:
    return connector.state != "STOPPED"

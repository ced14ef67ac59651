"""Drafts of offsets: the edited text, the offsets it is based on, and the review of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tui.editor import places
from tui.editor.checks import CheckedOffsets, check
from tui.model import Connector, Offset
from tui.offsets import partitions
from tui.offsets.bounds import NO_BOUNDS, Bounds
from tui.offsets.changes import OffsetChange, changes, left_out, same_offset
from tui.offsets.plan import OffsetPlan


class OffsetDraft(NamedTuple):
    """Edited offsets of a connector. `ran` if it may have advanced by itself since `base` was read."""

    connector: Connector
    base: tuple[Offset, ...]
    text: str
    ran: bool
    why: str = ""  # the reason, for the history
    counted: tuple[OffsetChange, ...] = ()  # changes with a known effect in records
    bounds: Bounds = NO_BOUNDS  # bounds of the topics, if known

    @property
    def is_touched(self) -> bool:
        return self.text != unchanged(self.connector, self.base).text

    @property
    def fields(self) -> dict[str, str]:
        """What is kept on disk: see restored()."""
        return {"text": self.text, "base": partitions.document(self.base), "why": self.why}

    def typed(self, text: str) -> OffsetDraft:
        return self._replace(text=text)

    def rebased(self, base: Sequence[Offset]) -> OffsetDraft:
        """The same text, based on the current offsets."""
        return self._replace(base=tuple(base), ran=_runs(self.connector))

    def onto(self, now: Sequence[Offset]) -> OffsetDraft:
        """The same changes applied to the current offsets; text with errors stays unchanged."""
        review = self.review()
        if tuple(now) == self.base or review.checked.errors:
            return self.rebased(now)
        return of_changes(self.connector, now, review.changes, self.why)._replace(bounds=self.bounds)

    def with_connector(self, connector: Connector) -> OffsetDraft:
        return self._replace(connector=connector, ran=self.ran or _runs(connector))

    def review(self) -> OffsetReview:
        checked = check(self.text, self.connector, self.base)
        changes = () if checked.errors else self._made(checked.entries)
        stays = () if checked.errors else tuple(left_out(self.base, checked.entries))
        return OffsetReview(checked, changes, stays)

    def _made(self, entries: Sequence[Offset]) -> tuple[OffsetChange, ...]:
        return self.bounds.remarked(map(self._with_effect, changes(self.base, entries)))

    def entry_at(self, line: int) -> Offset | None:
        """The entry in which a line (counted from 1) lies, or the one before it; None if the text has errors."""
        checked = check(self.text, self.connector, self.base)
        if checked.errors:
            return None
        document = places.parse(self.text)
        within = ("offsets",) if isinstance(document.value, dict) else ()
        starts = [document.place((*within, number)).line for number in range(len(checked.entries))]
        return next(
            (entry for start, entry in zip(starts[::-1], checked.entries[::-1], strict=True) if start <= line), None
        )

    def plan(self, changes: Sequence[OffsetChange]) -> OffsetPlan:
        return OffsetPlan(self.connector.name, self.base, tuple(changes), self.connector.state, self.ran, why=self.why)

    def _with_effect(self, change: OffsetChange) -> OffsetChange:
        """The change with its known effect, if it still is the same change."""
        key = partitions.key(change.partition)
        for edit in self.counted:
            if partitions.key(edit.partition) == key and same_offset(edit.before, change.before):
                is_it = same_offset(edit.after, change.after)
                return replace(change, effect=edit.effect, remark=edit.remark) if is_it else change
        return change


class OffsetReview(NamedTuple):
    """The review of a draft: problems, changes, and offsets that the text no longer mentions."""

    checked: CheckedOffsets
    changes: tuple[OffsetChange, ...]
    left_out: tuple[Offset, ...]


def unchanged(connector: Connector, base: Sequence[Offset]) -> OffsetDraft:
    text = partitions.document(base) if base else partitions.template(connector)
    return OffsetDraft(connector, tuple(base), text, _runs(connector))


def restored(connector: Connector, fields: Mapping[str, str]) -> OffsetDraft:
    """The draft of a console that has ended, with the offsets that it was based on."""
    base = check(fields.get("base", ""), connector, ()).entries
    return OffsetDraft(connector, tuple(base), fields.get("text", ""), True, fields.get("why", ""))


def of_changes(
    connector: Connector, base: Sequence[Offset], changes: Sequence[OffsetChange], why: str = ""
) -> OffsetDraft:
    """A draft that contains these changes already, as after undo or seek."""
    wanted = {partitions.key(entry.partition): entry for entry in base}
    for change in changes:
        wanted[partitions.key(change.partition)] = Offset(change.partition, change.after)
    counted = tuple(change for change in changes if change.effect is not None)
    return OffsetDraft(connector, tuple(base), partitions.document(wanted.values()), _runs(connector), why, counted)


def _runs(connector: Connector) -> bool:
    return connector.state != "STOPPED"

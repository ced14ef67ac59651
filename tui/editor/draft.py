"""A text being edited: what it is based on, what is wrong with it, what it would change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tui.editor.checks import Checked, check
from tui.model import Connector, Offset
from tui.offsets import partitions
from tui.offsets.bounds import NOWHERE, Bounds
from tui.offsets.changes import Change, changes, left_out, same
from tui.offsets.plan import Plan


class Draft(NamedTuple):
    """`base` are the offsets it began with; `ran`: the connector may have moved on by itself since then."""

    connector: Connector
    base: tuple[Offset, ...]
    text: str
    ran: bool
    why: str = ""  # for the history
    counted: tuple[Change, ...] = ()  # changes of which somebody knows what they mean in records
    bounds: Bounds = NOWHERE  # of the topics, where somebody knows them

    @property
    def is_touched(self) -> bool:
        return self.text != fresh(self.connector, self.base).text

    def typed(self, text: str) -> Draft:
        return self._replace(text=text)

    def rebased(self, base: Sequence[Offset]) -> Draft:
        """On what the server has now; the text stays."""
        return self._replace(base=tuple(base), ran=_runs(self.connector))

    def onto(self, now: Sequence[Offset]) -> Draft:
        """Applies the same changes to the current offsets; text that cannot be parsed stays unchanged."""
        found = self.review()
        if tuple(now) == self.base or found.checked.errors:
            return self.rebased(now)
        return of_changes(self.connector, now, found.changes, self.why)._replace(bounds=self.bounds)

    def with_connector(self, connector: Connector) -> Draft:
        return self._replace(connector=connector, ran=self.ran or _runs(connector))

    def review(self) -> Review:
        checked = check(self.text, self.connector, self.base)
        made = () if checked.errors else self._made(checked.entries)
        stays = () if checked.errors else tuple(left_out(self.base, checked.entries))
        return Review(checked, made, stays)

    def _made(self, entries: Sequence[Offset]) -> tuple[Change, ...]:
        return self.bounds.remarked(map(self._with_effect, changes(self.base, entries)))

    def plan(self, made: Sequence[Change]) -> Plan:
        return Plan(self.connector.name, self.base, tuple(made), self.connector.state, self.ran, why=self.why)

    def _with_effect(self, change: Change) -> Change:
        """As long as it still is the same change."""
        key = partitions.key(change.partition)
        for one in self.counted:
            if partitions.key(one.partition) == key and same(one.before, change.before):
                is_it = same(one.after, change.after)
                return replace(change, effect=one.effect, remark=one.remark) if is_it else change
        return change


class Review(NamedTuple):
    """What there is to say about a draft."""

    checked: Checked
    changes: tuple[Change, ...]
    left_out: tuple[Offset, ...]

    @property
    def may_be_applied(self) -> bool:
        return not self.checked.errors and bool(self.changes)


def fresh(connector: Connector, base: Sequence[Offset]) -> Draft:
    text = partitions.document(base) if base else partitions.template(connector)
    return Draft(connector, tuple(base), text, _runs(connector))


def of_changes(connector: Connector, base: Sequence[Offset], made: Sequence[Change], why: str = "") -> Draft:
    """A draft that has these changes in it already: an undo, a journey in time."""
    wanted = {partitions.key(entry.partition): entry for entry in base}
    for change in made:
        wanted[partitions.key(change.partition)] = Offset(change.partition, change.after)
    counted = tuple(change for change in made if change.effect is not None)
    return Draft(connector, tuple(base), partitions.document(wanted.values()), _runs(connector), why, counted)


def _runs(connector: Connector) -> bool:
    return connector.state != "STOPPED"

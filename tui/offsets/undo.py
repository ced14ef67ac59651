"""The history of a connector's offsets, and the changes that undo an entry.

Headrace workers keep the history themselves; for other clusters this machine records the changes made from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tui import model
from tui.client.client import Connect
from tui.errors import HeadraceError, NotFound, Refused
from tui.formatting import utc_time
from tui.model import Offset
from tui.offsets import partitions
from tui.offsets.change_store import ChangeStore
from tui.offsets.changes import OffsetChange, changes

Json = Any


class HistoryEntry(NamedTuple):
    """One change: all offsets before it, and those that it set (`after`; None for a reset)."""

    number: int
    time: int  # milliseconds since 1970
    action: str
    who: str
    why: str
    before: tuple[Offset, ...]
    after: tuple[Offset, ...]

    @property
    def at(self) -> str:
        return utc_time(self.time)

    @property
    def changes(self) -> list[OffsetChange]:
        """The partitions whose offsets changed."""
        return changes(self.before, self.after)

    @property
    def has_changed(self) -> bool:
        """Whether the change had an effect; a reset or a deletion has one if there were offsets before."""
        return bool(self.changes if self.action == "alter" else self.before)

    def __str__(self) -> str:
        return f"change {self.number} of {self.at}" + (f" by {self.who}" if self.who else "")


class OffsetHistory(NamedTuple):
    """Changes of one connector's offsets, newest first. `raw` has the entries as stored, by the worker (`by_worker`)
    or on this machine."""

    entries: tuple[HistoryEntry, ...]
    raw: list[Json]
    by_worker: bool


async def history(connect: Connect, change_store: ChangeStore, name: str) -> OffsetHistory:
    """The worker's history or, if it keeps none, this machine's. Raises HeadraceError."""
    raw = await by_worker(connect, name)
    kept = change_store.histories.read(name) if raw is None else raw
    return OffsetHistory(tuple(map(past_change, kept)), kept, raw is not None)


async def by_worker(connect: Connect, name: str) -> list[Json] | None:
    """The worker's entries; None if it is not a Headrace worker."""
    try:
        return list((await connect.offset_history(name))["history"])
    except Refused as error:
        if error.status in (404, 405):
            return None
        raise


def last(history: OffsetHistory, name: str) -> HistoryEntry:
    """The newest entry that changed an offset. Raises HeadraceError if there is none."""
    entry = next((past for past in history.entries if past.has_changed), None)
    if entry is None:
        advice = (
            ""
            if history.by_worker
            else "this worker keeps no history; this machine records only changes made from here"
        )
        raise HeadraceError(f"the offsets of {name} have not been changed yet", advice)
    return entry


def numbered(history: OffsetHistory, name: str, number: int) -> HistoryEntry:
    for past in history.entries:
        if past.number == number:
            return past
    raise NotFound(f"{name} has no change {number} in its history", 404, f"`get offset history {name}` lists them")


def undone(past: HistoryEntry, now: Sequence[Offset]) -> list[OffsetChange]:
    """The changes that undo one entry; they affect only its own partitions."""
    before = {partitions.key(entry.partition): entry for entry in past.before}
    touched = {partitions.key(entry.partition): entry for entry in past.after}
    if past.action != "alter":
        touched |= before
    return changes(now, [before.get(key, Offset(entry.partition, None)) for key, entry in touched.items()])


def as_before(past: HistoryEntry, now: Sequence[Offset]) -> list[OffsetChange]:
    """The changes that restore all offsets from before the entry."""
    kept = {partitions.key(entry.partition) for entry in past.before}
    gone = [Offset(entry.partition, None) for entry in now if partitions.key(entry.partition) not in kept]
    return changes(now, [*past.before, *gone])


def past_change(d: Json) -> HistoryEntry:
    """Converts an entry of the history."""
    before, after = (model.offsets({"offsets": d[key]}) for key in ("before", "after"))
    return HistoryEntry(d["number"], d["time"], d["action"], d["who"], d["why"], before, after)

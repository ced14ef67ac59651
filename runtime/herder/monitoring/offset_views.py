"""What can be asked about offsets beyond what they are: how far behind, who changed them, where a moment lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.api.java_compat.regex import java_regex
from runtime.herder.errors import BadRequest
from runtime.herder.herder import Herder
from runtime.herder.monitoring.expiry import Expiry
from runtime.herder.monitoring.progress import OffsetProgress
from runtime.herder.monitoring.stalls import Stalls
from runtime.herder.offsets.offset_requests import OffsetRequests
from runtime.herder.offsets.seek import SeekResolver, SeekTarget
from runtime.herder.offsets.stored_offsets import StoredOffsets, topic_partitions
from runtime.storage.journal import OffsetJournal, PastChange

Answer = dict[str, Any]


class OffsetViews:
    """Answers; changes nothing. Event loop only."""

    def __init__(
        self, herder: Herder, desk: OffsetRequests, places: StoredOffsets, journal: OffsetJournal,
        progress: OffsetProgress, travel: SeekResolver, stalls: Stalls, expiry: Expiry,
    ) -> None:  # fmt: skip
        self._herder, self._desk, self._places, self._journal = herder, desk, places, journal
        self._progress, self._travel = progress, travel
        self._stalls, self._expiry = stalls, expiry

    async def detail(self, name: str) -> Answer:
        """GET offsets?detail=true: the offsets, tasks that have `stalled`, and when a stopped sink's offsets expire on
        the brokers (`expires_at`, milliseconds since 1970)."""
        group = await self._desk.group(name, self._herder.stored(name).config)
        entries = await self._places.read(name, group)
        return {
            "offsets": await self._progress.detail(name, group is not None, entries),
            "stalled": sorted(self._stalls.stalled(name)),
            "expires_at": await self._expiry.expires_at(name) if group is not None and entries else None,
        }

    def check_known(self, name: str) -> None:
        """NotFound for a connector that does not exist."""
        self._herder.stored(name)

    async def resolve(self, name: str, wanted: Sequence[SeekTarget]) -> Answer:
        """POST offsets/resolve: where a sink would go."""
        group = await self._desk.group(name, self._herder.stored(name).config)
        if group is None:
            raise BadRequest(f"{name} is a source: only the offsets of sinks are positions in topics")
        entries = topic_partitions(await self._places.read(name, group))
        committed = {at: offset for at, offset in entries.items() if offset is not None}
        return await self._travel.resolve(committed, _reads(await self._desk.resolved(name)), wanted)

    def history(self, name: str) -> Answer:
        """What was changed by whom and when, newest first, with the offsets as they were before; also of connectors
        that are deleted."""
        return {"history": [_past(past) for past in self._journal.history(name)]}


def _reads(config: Mapping[str, str]) -> Callable[[str], bool]:
    if pattern := config.get("topics.regex", "").strip():
        compiled = java_regex(pattern)
        return lambda topic: compiled.fullmatch(topic) is not None
    named = {topic.strip() for topic in config.get("topics", "").split(",")}
    return lambda topic: topic in named


def _past(past: PastChange) -> Answer:
    return {
        "number": past.number,
        "time": past.time,
        "action": past.action.value,
        "who": past.origin.who,
        "why": past.origin.why,
        "before": [{"partition": p, "offset": o} for p, o in past.before],
        "after": [{"partition": p, "offset": o} for p, o in past.after],
    }

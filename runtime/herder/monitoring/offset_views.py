"""Read-only requests about offsets: lag, expiry, history, and the offsets at a point in time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from runtime.api.errors import ConfigError
from runtime.api.java_compat.regex.limited import LimitedMatch
from runtime.herder.configs.sink_clusters import SinkClusters
from runtime.herder.errors import BadRequest
from runtime.herder.herder import Herder
from runtime.herder.monitoring.expiry import Expiry
from runtime.herder.monitoring.progress import OffsetProgress
from runtime.herder.monitoring.stalls import Stalls
from runtime.herder.offsets.offset_requests import OffsetRequests
from runtime.herder.offsets.seek import SeekResolver, SeekTarget
from runtime.herder.offsets.stored_offsets import StoredOffsets, topic_partitions
from runtime.herder.responses import DetailedOffsetsResponse, HistoryResponse, PastChangeResponse, ResolvedResponse
from runtime.storage.journal import OffsetJournal, PastChange
from runtime.system.loop_turns import LoopTurns


class OffsetViews:
    """Answers requests without changing anything. Event loop only."""

    def __init__(
        self, herder: Herder, offset_requests: OffsetRequests, offsets: StoredOffsets, journal: OffsetJournal,
        progress: OffsetProgress, clusters: SinkClusters, stalls: Stalls, expiry: Expiry,
    ) -> None:  # fmt: skip
        self._herder, self._offset_requests, self._offsets = herder, offset_requests, offsets
        self._journal = journal
        self._progress, self._clusters = progress, clusters
        self._stalls, self._expiry = stalls, expiry

    async def detail(self, name: str) -> DetailedOffsetsResponse:
        """GET /connectors/{name}/offsets?detail=true: the offsets, the `stalled` tasks, and when a stopped sink's
        offsets expire on the brokers (`expires_at`, milliseconds since 1970)."""
        config = self._herder.stored(name).config
        group = await self._offset_requests.group(name, config)
        entries = await self._offsets.read(name, group)
        positions = isolation = None
        if group is not None:
            positions = (await self._clusters.of(name, config)).positions
            isolation = await self._offset_requests.isolation(config)
        return {
            "offsets": await self._progress.detail(name, entries, positions, isolation),
            "stalled": sorted(self._stalls.stalled(name)),
            "expires_at": await self._expiry.expires_at(name) if group is not None and entries else None,
        }

    def check_known(self, name: str) -> None:
        """Raises NotFound if the connector does not exist."""
        self._herder.stored(name)

    async def resolve(self, name: str, wanted: Sequence[SeekTarget]) -> ResolvedResponse:
        """POST /connectors/{name}/offsets/resolve: the offsets that a sink would seek to. BadRequest for a source."""
        group = await self._offset_requests.group(name, self._herder.stored(name).config)
        if group is None:
            raise BadRequest(f"{name} is a source connector; only offsets of sink connectors can be resolved")
        entries = topic_partitions(await self._offsets.read(name, group))
        committed = {at: offset for at, offset in entries.items() if offset is not None}
        seek = SeekResolver((await self._clusters.of(name)).positions)
        try:
            return await seek.resolve(committed, _reads(await self._offset_requests.resolved(name)), wanted)
        except ConfigError as error:
            raise BadRequest(str(error)) from None

    async def history(self, name: str) -> HistoryResponse:
        """GET /connectors/{name}/offsets/history: changes, newest first, with the offsets before each change. The last
        deleted connectors keep their histories."""
        turns, changes = LoopTurns(), list[PastChangeResponse]()
        for change in await self._journal.history(name):
            changes.append(_past_change(change))
            await turns.next()
        return {"history": changes}


def _reads(config: Mapping[str, str]) -> Callable[[str], bool]:
    if pattern := config.get("topics.regex", "").strip():
        return LimitedMatch(pattern)
    named = {topic.strip() for topic in config.get("topics", "").split(",")}
    return lambda topic: topic in named


def _past_change(change: PastChange) -> PastChangeResponse:
    return {
        "number": change.number,
        "time": change.time,
        "action": change.action.value,
        "who": change.origin.who,
        "why": change.origin.why,
        "before": [{"partition": p, "offset": o} for p, o in change.before],
        "after": [{"partition": p, "offset": o} for p, o in change.after],
    }

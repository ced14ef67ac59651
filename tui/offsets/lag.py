"""Lag by partition: from Headrace workers, or from the brokers for sinks of other workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tui.formatting import format_duration
from tui.model import Offset
from tui.offsets import partitions
from tui.offsets.brokers import Brokers

if TYPE_CHECKING:
    from tui.client.responses import LagResponse, OffsetsResponse


class Lag(NamedTuple):
    """Lag of one partition: `records` and `behind_ms` to the end (sinks), `age_ms` of the position (sources)."""

    end: int | None = None
    records: int | None = None
    behind_ms: int | None = None
    age_ms: int | None = None


class OffsetWarnings(NamedTuple):
    """Warnings of Headrace workers: tasks RUNNING without progress, and when a stopped sink's offsets expire."""

    stalled: tuple[int, ...] = ()
    expires_at: int | None = None  # milliseconds since 1970

    def lines(self, now_ms: int) -> list[str]:
        lines = []
        if self.stalled:
            word = "task" if len(self.stalled) == 1 else "tasks"
            lines.append(f"STALLED: {word} {', '.join(map(str, self.stalled))} RUNNING, with records waiting")
        if self.expires_at is not None:
            left = self.expires_at - now_ms
            when = f"in {format_duration(left / 1000)}" if left > 0 else "at any moment"
            lines.append(
                f"the brokers will delete these offsets {when}: the connector is stopped and its group is empty"
            )
        return lines


NO_WARNINGS = OffsetWarnings()


def warnings(response: OffsetsResponse) -> OffsetWarnings:
    """Warnings from `GET offsets?detail=true`."""
    return OffsetWarnings(tuple(response.get("stalled") or ()), response.get("expires_at"))


def of_response(response: OffsetsResponse) -> dict[str, Lag]:
    """Lag from `GET offsets?detail=true`, by partition key; empty if the worker does not report lag."""
    lags = {}
    for entry in response.get("offsets") or ():
        if entry.get("lag") is not None or entry.get("age_ms") is not None:
            lag: LagResponse = entry.get("lag") or {}
            partition = Lag(entry.get("end"), lag.get("records"), lag.get("ms"), entry.get("age_ms"))
            lags[partitions.key(entry.get("partition"))] = partition
    return lags


def of_brokers(offsets: Sequence[Offset], brokers: Brokers) -> dict[str, Lag]:
    """Lag of a sink in records, by partition key. Blocks. Raises HeadraceError if the brokers cannot be reached."""
    places = {
        (e.partition["kafka_topic"], int(e.partition["kafka_partition"])): e for e in offsets if e.is_sink and e.offset
    }
    if not places:
        return {}
    ends = brokers.ends(places)
    return {
        partitions.key(entry.partition): Lag(ends[at], max(ends[at] - int(entry.offset["kafka_offset"]), 0))
        for at, entry in places.items()
    }


def time_of(lag: Lag) -> str:
    """The age of the next record (`12 min`), or of the position itself (`3 s old`)."""
    if lag.age_ms is not None:
        return f"{format_duration(lag.age_ms / 1000)} old"
    return format_duration(lag.behind_ms / 1000) if lag.records and lag.behind_ms is not None else ""


def total(lags: Mapping[str, Lag]) -> Lag:
    """The lag of the whole connector: the sum of records, the longest `behind_ms`, the shortest `age_ms`."""
    records = [lag.records for lag in lags.values() if lag.records is not None]
    behind = [lag.behind_ms for lag in lags.values() if lag.behind_ms is not None]
    ages = [lag.age_ms for lag in lags.values() if lag.age_ms is not None]
    return Lag(None, sum(records) if records else None, max(behind, default=None), min(ages, default=None))

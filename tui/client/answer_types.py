"""Types of REST answers, as checked by the shapes of `tui.client.answers`. For annotations only: never imported at run
time."""

from __future__ import annotations

from typing import Any, TypedDict

Json = Any


class OffsetEntry(TypedDict, total=False):
    """An entry of the history; `offset` is None for a reset."""

    partition: Json
    offset: Json


class HistoryChange(TypedDict):
    """One change of a connector's offsets; `time` in milliseconds since 1970."""

    number: int
    time: int
    action: str
    who: str
    why: str
    before: list[OffsetEntry]
    after: list[OffsetEntry]


class HistoryAnswer(TypedDict):
    """`GET /connectors/{name}/offsets/history`, newest change first."""

    history: list[HistoryChange]


class OrphanedSource(TypedDict):
    connector: str
    partitions: int


class OrphanedSink(TypedDict):
    connector: str
    partitions: int
    group: str


class OrphansAnswer(TypedDict):
    """`GET /orphaned-offsets`."""

    sources: list[OrphanedSource]
    sinks: list[OrphanedSink]


class SinkPartition(TypedDict):
    kafka_topic: str
    kafka_partition: int


ResolvedChange = TypedDict(
    "ResolvedChange", {"partition": SinkPartition, "from": int | None, "to": int, "reread": int, "skipped": int}
)
"""A partition's offsets before and after seeking, and the effect in records."""


class ResolvedAnswer(TypedDict):
    """`POST /connectors/{name}/offsets/resolve`."""

    changes: list[ResolvedChange]

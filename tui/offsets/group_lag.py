"""Committed offsets and lag of many sinks at once, from the brokers: for workers that report neither."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tui.model import Connector
from tui.offsets.brokers import Brokers
from tui.offsets.seek import topic_filter


class GroupLag(NamedTuple):
    """The sum of a sink's committed offsets, and its lag in records."""

    committed: int
    lag: int


def group_of(sink: Connector) -> str:
    """The consumer group of a sink."""
    return sink.config.get("consumer.override.group.id") or f"connect-{sink.name}"


def of_sinks(brokers: Brokers, sinks: Iterable[Connector]) -> dict[str, GroupLag]:
    """By name; without sinks that have committed nothing. Blocks. Raises HeadraceError."""
    wanted = {sink.name: sink for sink in sinks}
    committed = brokers.committed([group_of(sink) for sink in wanted.values()])
    read = {name: _read(sink, committed.get(group_of(sink), {})) for name, sink in wanted.items()}
    ends = brokers.ends({at for places in read.values() for at in places})
    return {name: _lag(places, ends) for name, places in read.items() if places}


def _read(sink: Connector, committed: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
    """The committed offsets of topics that the sink still reads; all, if its expression is known to Java only."""
    is_read = topic_filter(sink.config)
    places = {at: offset for at, offset in committed.items() if is_read(at[0])}
    return places or (dict(committed) if sink.config.get("topics.regex") else {})


def _lag(places: Mapping[tuple[str, int], int], ends: Mapping[tuple[str, int], int]) -> GroupLag:
    behind = sum(max(0, ends[at] - offset) for at, offset in places.items() if at in ends)
    return GroupLag(sum(places.values()), behind)

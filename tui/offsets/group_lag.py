"""Committed offsets and lag of many sinks at once, from the brokers: for workers that report neither."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from tui.errors import HeadraceError
from tui.model import Connector
from tui.offsets.brokers import Brokers, TopicPartition
from tui.offsets.seek import topic_filter


class GroupLag(NamedTuple):
    """The sum of a sink's committed offsets, and its lag in records."""

    committed: int
    lag: int


def group_of(sink: Connector) -> str:
    """The consumer group of a sink."""
    return sink.config.get("consumer.override.group.id") or f"connect-{sink.name}"


def of_sinks(brokers: Brokers, sinks: Iterable[Connector]) -> dict[str, GroupLag | HeadraceError]:
    """The lag or the error of each sink, by name; without sinks that have committed nothing. Blocks. Raises
    HeadraceError only if nothing can be requested, for example without confluent-kafka."""
    wanted = {sink.name: sink for sink in sinks}
    committed = brokers.committed(read_topics(wanted.values()))
    group_lags: dict[str, GroupLag | HeadraceError] = {}
    read: dict[str, dict[TopicPartition, int]] = {}
    for name, sink in wanted.items():
        offsets = committed.get(group_of(sink), {})
        if isinstance(offsets, HeadraceError):
            group_lags[name] = offsets
        elif places := _read(sink, offsets):
            read[name] = places
    ends = brokers.ends_or_errors({at for places in read.values() for at in places})
    return group_lags | {name: _lag(places, ends) for name, places in read.items()}


def read_topics(sinks: Iterable[Connector]) -> dict[str, Callable[[str], bool]]:
    """By group, whether one of its sinks reads a topic; of a sink with `topics.regex` all topics, since its expression
    may be known to Java only."""
    filters: dict[str, list[Callable[[str], bool]]] = {}
    for sink in sinks:
        is_read = (lambda topic: True) if sink.config.get("topics.regex") else topic_filter(sink.config)
        filters.setdefault(group_of(sink), []).append(is_read)
    return {group: partial(_any_accepts, filter) for group, filter in filters.items()}


def _any_accepts(filters: Iterable[Callable[[str], bool]], topic: str) -> bool:
    return any(accepts(topic) for accepts in filters)


def _read(sink: Connector, committed: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
    """The committed offsets of topics that the sink still reads; all, if its expression is known to Java only."""
    is_read = topic_filter(sink.config)
    places = {at: offset for at, offset in committed.items() if is_read(at[0])}
    return places or (dict(committed) if sink.config.get("topics.regex") else {})


def _lag(
    places: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int | HeadraceError]
) -> GroupLag | HeadraceError:
    behind = 0
    for at, offset in places.items():
        end = ends[at]
        if isinstance(end, HeadraceError):
            return end  # a sum over the other partitions would be too small
        behind += max(0, end - offset)
    return GroupLag(sum(places.values()), behind)

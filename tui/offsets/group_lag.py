"""Committed offsets and lag of many sinks at once, from the brokers: for workers that report neither."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from tui.errors import HeadraceError
from tui.model import Connector
from tui.offsets.brokers import Brokers, TopicPartition
from tui.offsets.seek import topic_filter


class GroupLag(NamedTuple):
    """The sum of the offsets at which a sink continues, and its lag in records."""

    committed: int
    lag: int


def group_of(sink: Connector) -> str:
    """The consumer group of a sink."""
    return sink.config.get("consumer.override.group.id") or f"connect-{sink.name}"


def of_sinks(brokers: Brokers, sinks: Iterable[Connector]) -> dict[str, GroupLag | HeadraceError]:
    """The lag or the error of each sink, by name. A sink that has committed nothing starts at the beginning of its
    topics; it is left out if `auto.offset.reset` says otherwise, or if it has no topics. Blocks. Raises HeadraceError
    only if nothing can be requested, for example without confluent-kafka."""
    wanted = {sink.name: sink for sink in sinks}
    committed = brokers.committed(read_topics(wanted.values()))
    group_lags: dict[str, GroupLag | HeadraceError] = {}
    read: dict[str, Mapping[TopicPartition, int | HeadraceError]] = {}
    new: list[Connector] = []
    for name, sink in wanted.items():
        offsets = committed.get(group_of(sink), {})
        if isinstance(offsets, HeadraceError):
            group_lags[name] = offsets
        elif places := _read(sink, offsets):
            read[name] = places
        elif sink.config.get("consumer.override.auto.offset.reset", "earliest") == "earliest":
            new.append(sink)
    read |= _beginnings(brokers, new)
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


def _beginnings(
    brokers: Brokers, sinks: Collection[Connector]
) -> dict[str, Mapping[TopicPartition, int | HeadraceError]]:
    """The beginnings of all partitions that these sinks read, by sink; without sinks that read none."""
    if not sinks:
        return {}
    filters = {sink.name: topic_filter(sink.config) for sink in sinks}
    beginnings = brokers.beginnings_or_errors(brokers.partitions(partial(_any_accepts, filters.values())))
    own = {
        name: {at: offset for at, offset in beginnings.items() if is_read(at[0])} for name, is_read in filters.items()
    }
    return {name: places for name, places in own.items() if places}


def _lag(
    places: Mapping[TopicPartition, int | HeadraceError], ends: Mapping[TopicPartition, int | HeadraceError]
) -> GroupLag | HeadraceError:
    committed = behind = 0
    for at, offset in places.items():
        end = ends[at]
        if isinstance(offset, HeadraceError):
            return offset  # a sum over the other partitions would be too small
        if isinstance(end, HeadraceError):
            return end
        committed += offset
        behind += max(0, end - offset)
    return GroupLag(committed, behind)

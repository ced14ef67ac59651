"""Resolves positions of a seek, such as a time, to a sink's offsets, and counts the records read again or skipped.

Changes nothing: the response's `offsets` can be sent with PATCH /connectors/{name}/offsets.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from runtime.herder.errors import BadRequest
from runtime.herder.offsets.stored_offsets import PARTITION, TOPIC, sink_entry
from runtime.herder.responses import ResolvedResponse, SeekResponse
from runtime.kafka.clients.kafka_python import TopicPartition
from runtime.kafka.positions import Offsets, Positions, partitions_of

# Positions in a topic as users write them: earliest, latest, a time, a duration ago, or a number of records.
#
# The console parses the same grammar in `tui/offsets/positions.py`, since console and worker do not import each other;
# both parsers are tested with the cases of `tests/support/topic_positions.json`.
_EDGES = {"earliest": False, "beginning": False, "start": False, "latest": True, "end": True, "now": True}
_ISO_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?", re.IGNORECASE | re.ASCII)
_DURATION = re.compile(r"(?:(\d+)\s*d)?\s*(?:(\d+)\s*h)?\s*(?:(\d+)\s*m)?\s*(?:(\d+)\s*s)?", re.IGNORECASE | re.ASCII)
_EXPECTED = (
    "expected earliest, latest, a time (2026-01-31T12:00:00Z), a duration ago (1h30m ago, -1h, PT1H), +N or -N "
    "records, or an offset"
)


@dataclass(frozen=True, slots=True)
class Edge:
    """The beginning or the end of the partition."""

    end: bool


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record with this timestamp (milliseconds since 1970) or a later one."""

    milliseconds: int


@dataclass(frozen=True, slots=True)
class Relative:
    """A number of records after (or, if negative, before) the committed offset."""

    records: int


@dataclass(frozen=True, slots=True)
class Absolute:
    """An offset."""

    offset: int


Moment = Edge | AtTime | Relative | Absolute


def parse(text: object, now: datetime) -> Moment:
    """Parses the text or whole number of a request. A time without a zone is in UTC, and a time before 1970 is 1970.
    Raises BadRequest, whose message lists the valid forms."""
    if isinstance(text, int) and not isinstance(text, bool) and 0 <= text < 10**18:
        return Absolute(text)
    word = text.strip() if isinstance(text, str) else ""
    if word.lower() in _EDGES:
        return Edge(_EDGES[word.lower()])
    if re.fullmatch(r"[+-]\d{1,18}", word, re.ASCII):
        return Relative(int(word))
    if re.fullmatch(r"\d{1,18}", word, re.ASCII):
        return Absolute(int(word))
    try:
        ago = _duration(word)
        moment = now - ago if ago is not None else _time(word)
        return AtTime(max(int(moment.timestamp() * 1000), 0))
    except (ValueError, OverflowError):
        raise BadRequest(f"'to' is {text!r}; {_EXPECTED}") from None


def _duration(word: str) -> timedelta | None:
    bare = word.removeprefix("-").removesuffix("ago").strip()
    match = _ISO_DURATION.fullmatch(bare) or _DURATION.fullmatch(bare)
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _time(word: str) -> datetime:
    moment = datetime.fromisoformat(word)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SeekTarget:
    """A position for one partition, for all partitions of a topic, or for all partitions of the sink."""

    moment: Moment
    topic: str | None = None
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class _Known:
    """Committed offsets and topic boundaries of the partitions."""

    committed: Mapping[TopicPartition, int]
    beginnings: Offsets
    ends: Offsets


def targets(body: Any, now: datetime | None = None) -> list[SeekTarget]:
    """Parse `{"to": …, "kafka_topic": …, "kafka_partition": …}` or `{"targets": [several of these]}`; the last target
    that matches a partition wins. BadRequest if the body is invalid."""
    if not isinstance(body, dict):
        raise BadRequest("The request body must be a JSON object")
    if "targets" not in body:
        return [_target(body, now or datetime.now(UTC))]
    if body.keys() != {"targets"} or not isinstance(body["targets"], list) or not body["targets"]:
        raise BadRequest("'targets' must be a non-empty array and the only key of the request")
    return [_target(item, now or datetime.now(UTC)) for item in body["targets"]]


def _target(value: Any, now: datetime) -> SeekTarget:
    if not isinstance(value, dict) or not {"to"} <= value.keys() <= {"to", TOPIC, PARTITION}:
        raise BadRequest(f"A target must have 'to' and may have '{TOPIC}' and '{PARTITION}', but no other keys")
    topic, partition = value.get(TOPIC), value.get(PARTITION)
    if not isinstance(topic, str | None) or type(partition) not in (int, type(None)):
        raise BadRequest(f"'{TOPIC}' must be a string and '{PARTITION}' a number")
    if partition is not None and topic is None:
        raise BadRequest(f"'{PARTITION}' requires '{TOPIC}'")
    return SeekTarget(parse(value["to"], now), topic, partition)


class SeekResolver:
    """Resolves targets against the topics of one cluster. Event loop only."""

    def __init__(self, positions: Positions) -> None:
        self._positions = positions

    async def resolve(
        self, committed: Mapping[TopicPartition, int], reads: Callable[[str], bool], wanted: Sequence[SeekTarget]
    ) -> ResolvedResponse:
        """`reads` returns whether the sink reads a topic. BadRequest for a target that matches no partition."""
        topics = await self._positions.partitions()
        named = {target.topic for target in wanted}
        partitions = partitions_of(topics, (t for t in topics if reads(t) or t in named)) | committed.keys()
        chosen = _chosen(sorted(partitions), wanted)
        beginnings, ends = await asyncio.gather(
            self._positions.beginnings(list(chosen)), self._positions.ends(list(chosen))
        )
        known = _Known(committed, beginnings, ends)
        goals = await self._goals({at: target.moment for at, target in chosen.items() if at in ends}, known)
        changes = [_change(at, goal, known) for at, goal in goals.items()]
        return {
            "offsets": [{"partition": c["partition"], "offset": {"kafka_offset": c["to"]}} for c in changes],
            "changes": changes,
            "reread": sum(c["reread"] for c in changes),
            "skipped": sum(c["skipped"] for c in changes),
        }

    async def _goals(self, moments: Mapping[TopicPartition, Moment], known: _Known) -> Offsets:
        """The target offsets, limited to the records that the topic holds."""
        times = {moment.milliseconds for moment in moments.values() if isinstance(moment, AtTime)}
        offsets_at = {
            ms: await self._positions.at_time([at for at, m in moments.items() if m == AtTime(ms)], ms) for ms in times
        }
        goals = {}
        for at, moment in moments.items():
            begin, end = known.beginnings.get(at, 0), known.ends[at]
            goal = offsets_at[moment.milliseconds][at] if isinstance(moment, AtTime) else _goal(moment, at, known)
            goals[at] = min(max(goal, begin), end)
        return goals


def _chosen(partitions: Sequence[TopicPartition], wanted: Sequence[SeekTarget]) -> dict[TopicPartition, SeekTarget]:
    """The last matching target of each partition, in time that is linear in the number of targets. BadRequest for a
    target that matches no partition."""
    last = {(t.topic, t.partition): (i, t) for i, t in enumerate(wanted)}
    chosen: dict[TopicPartition, SeekTarget] = {}
    meant = set()
    for at in partitions:
        keys = [key for key in ((None, None), (at[0], None), at) if key in last]
        meant.update(keys)
        if keys:
            chosen[at] = max((last[key] for key in keys), key=lambda entry: entry[0])[1]
    for target in wanted:
        if (target.topic, target.partition) not in meant:
            raise BadRequest(_nowhere(target))
    return chosen


def _goal(moment: Edge | Relative | Absolute, at: TopicPartition, known: _Known) -> int:
    begin = known.beginnings.get(at, 0)
    match moment:
        case Edge(end):
            return known.ends[at] if end else begin
        case Relative(records):
            return known.committed.get(at, begin) + records
        case Absolute(offset):
            return offset


def _change(at: TopicPartition, goal: int, known: _Known) -> SeekResponse:
    """The effect of seeking to an offset. A sink without a committed offset starts at the beginning."""
    begin, end = known.beginnings.get(at, 0), known.ends[at]
    now = min(max(known.committed.get(at, begin), begin), end)
    return {
        "partition": sink_entry(*at, None)[0],
        "from": known.committed.get(at),
        "to": goal,
        "reread": max(now - goal, 0),
        "skipped": max(goal - now, 0),
        "beginning": begin,
        "end": end,
    }


def _nowhere(target: SeekTarget) -> str:
    if target.topic is None:
        return "The sink has no partitions to seek in: none of its topics exists"
    if target.partition is None:
        return f"The sink has no partitions of topic {target.topic} to seek in"
    return f"The sink has no partition {target.topic}-{target.partition} to seek in"

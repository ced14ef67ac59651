"""Seeking for sinks: resolves a position to offsets, with the records that would be read again or skipped.

Our workers resolve positions themselves; for any other Connect the brokers of the context are queried. Nothing is
changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tui import model
from tui.client.client import Connect
from tui.errors import HeadraceError, NotFound, UsageError
from tui.model import Offset, topics_read
from tui.offsets.brokers import Brokers, TopicPartition
from tui.offsets.changes import ChangeKind, Effect, OffsetChange
from tui.offsets.positions import AbsolutePosition, EdgePosition, Position, RelativePosition, TimePosition
from tui.patterns import Pattern

if TYPE_CHECKING:
    from tui.client.responses import ResolvedChange

Json = Any
T = TypeVar("T")


async def in_thread(work: Callable[[], T]) -> T:
    """Runs a blocking function in a thread if there is an event loop; a script, which has none, calls it directly."""
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    return await asyncio.to_thread(work)


class SeekRequest(NamedTuple):
    """The requested position of some partitions: all of the sink's, those of one topic, or a single one."""

    position: Position
    topic: str | None = None
    partition: int | None = None

    def includes(self, at: TopicPartition) -> bool:
        return self.topic in (None, at[0]) and self.partition in (None, at[1])

    def __str__(self) -> str:
        """` orders-3`, ` orders`, or empty for all partitions."""
        partition = "" if self.partition is None else f"-{self.partition}"
        return f" {self.topic}{partition}" if self.topic else ""

    @property
    def body(self) -> Json:
        given = {"to": str(self.position), "kafka_topic": self.topic, "kafka_partition": self.partition}
        return {key: value for key, value in given.items() if value is not None}


class SeekPlan(NamedTuple):
    """The result of resolving a request. `base`: the offsets before it; `changes`: the partitions that move, out of
    `seen`; `held`: the partitions that stay only because their topic does not reach the position."""

    base: tuple[Offset, ...]
    changes: tuple[OffsetChange, ...]
    seen: int
    held: tuple[OffsetChange, ...] = ()

    @property
    def effect(self) -> Effect:
        effects = [change.effect for change in self.changes if change.effect]
        return Effect(sum(e.reread for e in effects), sum(e.skipped for e in effects))


class SeekPlanner:
    """Resolves positions of one cluster. `brokers` is called only if the worker cannot resolve them itself."""

    def __init__(self, connect: Connect, brokers: Callable[[], Brokers]) -> None:
        self._connect, self._brokers = connect, brokers

    async def resolve(self, name: str, target: SeekRequest) -> SeekPlan:
        """Raises NotFound for an unknown connector, HeadraceError if the position cannot be resolved."""
        base = model.offsets(await self._connect.offsets(name))
        try:
            response = await self._connect.resolve_offsets(name, target.body)
        except NotFound:
            moves = await self._by_brokers(name, base, target)
        else:
            moves = [_change_of_response(change) for change in response["changes"]]
        clamped = [_clamped(target.position, move) for move in moves]
        held = tuple(move for move in clamped if not _moves(move) and move.remark)
        return SeekPlan(base, tuple(filter(_moves, clamped)), len(moves), held)

    async def _by_brokers(self, name: str, base: Sequence[Offset], target: SeekRequest) -> list[OffsetChange]:
        info = await self._connect.info(name)
        if info.get("type") == "source":
            raise HeadraceError(f"{name} is a source: only sinks have positions in topics")
        committed = {_place(e): int(e.offset["kafka_offset"]) for e in base if e.is_sink and e.offset}
        brokers, is_read = self._brokers(), topic_filter(info.get("config") or {})
        return await in_thread(lambda: _resolved(brokers, committed, is_read, target))


def _place(entry: Offset) -> TopicPartition:
    return entry.partition["kafka_topic"], int(entry.partition["kafka_partition"])


def topic_filter(config: Mapping[str, str]) -> Callable[[str], bool]:
    """Whether the sink reads a topic. A regular expression that only Java understands, or that takes too long, matches
    no topic here."""
    if pattern := config.get("topics.regex", "").strip():
        try:
            compiled = Pattern(pattern)
        except UsageError:
            return lambda topic: False
        return lambda topic: _matches(compiled, topic)
    return set(topics_read(config)).__contains__


def _matches(pattern: Pattern, topic: str) -> bool:
    try:
        return pattern.matches(topic)
    except UsageError:
        return False


def _resolved(
    brokers: Brokers, committed: Mapping[TopicPartition, int], is_read: Callable[[str], bool], target: SeekRequest
) -> list[OffsetChange]:
    """The changes of the requested partitions, clamped to the bounds of their topics. Blocks."""
    topics = {topic for topic, _ in committed} | {target.topic}
    existing = brokers.partitions(lambda topic: is_read(topic) or topic in topics)
    wanted = [
        at for at in existing if target.includes(at) and (is_read(at[0]) or at in committed or at[0] == target.topic)
    ]
    if not wanted:
        raise HeadraceError(f"the sink reads no partition{target}")
    begins, ends = brokers.beginnings(wanted), brokers.ends(wanted)
    goals = _goals(brokers, target.position, wanted, committed, begins, ends)
    return [
        _move(at, min(max(goals[at], begins[at]), ends[at]), committed.get(at), begins[at], ends[at]) for at in wanted
    ]


def _goals(
    brokers: Brokers,
    position: Position,
    wanted: Sequence[TopicPartition],
    committed: Mapping[TopicPartition, int],
    begins: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> Mapping[TopicPartition, int]:
    match position:
        case TimePosition(milliseconds):
            return {**ends, **brokers.at_time(wanted, milliseconds)}
        case EdgePosition(end):
            return ends if end else begins
        case RelativePosition(records):
            return {at: committed.get(at, begins[at]) + records for at in wanted}
        case AbsolutePosition(offset):
            return dict.fromkeys(wanted, offset)


def _move(at: TopicPartition, goal: int, committed: int | None, begin: int, end: int) -> OffsetChange:
    """The change with its effect."""
    return _change(*at, committed, goal, Effect.between(committed, goal, begin, end))


def _change_of_response(c: ResolvedChange) -> OffsetChange:
    topic, partition = c["partition"]["kafka_topic"], c["partition"]["kafka_partition"]
    return _change(topic, partition, c["from"], c["to"], Effect(c["reread"], c["skipped"]))


def _change(topic: str, partition: int, was: int | None, goal: int, effect: Effect) -> OffsetChange:
    before = None if was is None else {"kafka_offset": was}
    kind = ChangeKind.NEW if before is None else ChangeKind.ALTER
    return OffsetChange(
        kind, {"kafka_topic": topic, "kafka_partition": partition}, before, {"kafka_offset": goal}, effect
    )


def _clamped(position: Position, change: OffsetChange) -> OffsetChange:
    """Adds a remark if the topic does not reach the requested offset."""
    before, after = change.before and change.before["kafka_offset"], change.after["kafka_offset"]
    asked = after
    if isinstance(position, AbsolutePosition):
        asked = position.offset
    elif isinstance(position, RelativePosition) and before is not None:
        asked = int(before) + position.records
    if asked == after:
        return change
    edge = "end" if asked > after else "beginning"
    return replace(change, remark=f"the {edge}: the topic has no offset {asked:,}")


def _moves(change: OffsetChange) -> bool:
    return bool(change.before != change.after)

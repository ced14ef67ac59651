"""Pages at a position: the beginning, the end, a time, an offset of a partition."""

from __future__ import annotations

import re
from typing import NamedTuple

from tui.errors import UsageError
from tui.offsets import positions
from tui.offsets.positions import AbsolutePosition, EdgePosition, Position, RelativePosition, TimePosition
from tui.topics.page_scan import Matches, ReadLimits
from tui.topics.reader import TopicReader
from tui.topics.records import RecordPage

EXPECTED = (
    "earliest, latest, a time (2026-01-31T12:00:00Z), a duration ago (1h30m ago), -N, an offset or PARTITION@OFFSET"
)
_OF_PARTITION = re.compile(r"(\d{1,9})@(.+)", re.ASCII)


class RecordPosition(NamedTuple):
    """A position in a topic; `partition` None for all partitions."""

    position: Position
    partition: int | None = None


def parse(text: str, partition: int | None = None) -> RecordPosition:
    """Parses what a user typed; `partition` applies unless the text names one. Raises UsageError."""
    if (match := _OF_PARTITION.fullmatch(text.strip())) is not None:
        partition, text = int(match[1]), match[2]
    try:
        position = positions.parse(text)
    except UsageError:
        raise UsageError(f"{text!r} is not a position: expected {EXPECTED}") from None
    if isinstance(position, RelativePosition) and position.records >= 0:
        raise UsageError(f"{text!r} is not a position in a topic: expected {EXPECTED}")
    return RecordPosition(position, partition)


def page_at(
    reader: TopicReader, topic: str, at: RecordPosition, limits: ReadLimits, matches: Matches | None = None
) -> RecordPage:
    """The page that begins at the position; for `latest`, the newest records. Blocks. Raises HeadraceError."""
    match at.position:
        case EdgePosition(end=True):
            return reader.older(topic, limits, None, matches, at.partition)
        case RelativePosition(records=count):
            return reader.older(topic, limits._replace(records=-count), None, matches, at.partition)
        case TimePosition(milliseconds=time):
            return reader.newer(topic, limits, reader.at_time(topic, time, at.partition), matches, at.partition)
        case AbsolutePosition(offset=offset):
            partition = _partition(reader, topic, at.partition, offset)
            return reader.newer(topic, limits, {partition: offset}, matches, partition)
    return reader.newer(topic, limits, None, matches, at.partition)


def around(reader: TopicReader, topic: str, partition: int, offset: int, limits: ReadLimits) -> RecordPage:
    """Records of a partition before and after an offset. Blocks. Raises HeadraceError."""
    half = limits._replace(records=max(1, limits.records // 2))
    after = reader.newer(topic, half, {partition: offset}, None, partition)
    before = reader.older(topic, half, {partition: after.starts[partition]}, None, partition)
    return before.joined(after, limits.records)


def _partition(reader: TopicReader, topic: str, given: int | None, offset: int) -> int:
    if given is not None:
        return given
    numbers = list(reader.bounds(topic)[0])
    if len(numbers) == 1:
        return numbers[0]
    raise UsageError(
        f"{topic} has {len(numbers)} partitions: name the one of offset {offset}, as in 0@{offset} or -p 0"
    )

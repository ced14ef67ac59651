"""Positions in topics, in the cases that the worker and the console share, and targets that match no partition."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

import pytest

from runtime.herder.errors import BadRequest
from runtime.herder.offsets.seek import Absolute, AtTime, Edge, Moment, Relative, SeekResolver, SeekTarget, parse
from runtime.kafka.positions import Positions
from tests.support.topic_positions import ERRORS, NOW, POSITIONS


class _NoTopics:
    """Brokers without topics."""

    async def partitions(self) -> dict[str, list[int]]:
        return {}


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (SeekTarget(Edge(end=False)), "none of its topics exists"),
        (SeekTarget(Edge(end=False), "t"), "no partitions of topic t "),
        (SeekTarget(Edge(end=False), "t", 3), "no partition t-3 "),
    ],
)
async def test_a_target_without_partitions_is_refused(target: SeekTarget, message: str) -> None:
    seek = SeekResolver(cast("Positions", _NoTopics()))
    with pytest.raises(BadRequest, match=message):
        await seek.resolve({}, lambda topic: True, [target])


def canonical(moment: Moment) -> str:
    """The text by which the shared table names a position."""
    match moment:
        case Edge(end):
            return "latest" if end else "earliest"
        case AtTime(milliseconds):
            at = datetime.fromtimestamp(milliseconds / 1000, UTC)
            return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case Relative(records):
            return f"{records:+d}"
        case Absolute(offset):
            return str(offset)


@pytest.mark.parametrize(("text", "expected"), POSITIONS)
def test_a_position_is_parsed(text: str, expected: str) -> None:
    assert canonical(parse(text, NOW)) == expected


def test_a_number_is_an_offset() -> None:
    assert parse(10, NOW) == Absolute(10)


@pytest.mark.parametrize("text", [*ERRORS, -1, True, None, [], 10**30])
def test_an_invalid_position_is_refused(text: object) -> None:
    with pytest.raises(BadRequest, match="expected earliest"):
        parse(text, NOW)

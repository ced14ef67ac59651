"""Positions in topics: the cases that the worker and the console share."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from runtime.herder.errors import BadRequest
from runtime.herder.offsets.seek import Absolute, AtTime, Edge, Moment, Relative, parse
from tests.support.topic_positions import ERRORS, NOW, POSITIONS


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

"""Where to go in a topic, as people say it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

import pytest

from runtime.herder.errors import BadRequest
from runtime.herder.offsets.moments import Absolute, At, Edge, Moment, Relative, parse
from runtime.herder.offsets.seek import SeekResolver, SeekTarget
from runtime.kafka.positions import Positions

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
HOUR = 3_600_000
NOON = int(NOW.timestamp() * 1000)


@pytest.mark.parametrize(
    "text, moment",
    [
        ("earliest", Edge(end=False)),
        ("LATEST", Edge(end=True)),
        ("+10", Relative(10)),
        ("-10", Relative(-10)),
        (" 10 ", Absolute(10)),
        (10, Absolute(10)),
        ("2h", At(NOON - 2 * HOUR)),
        ("1d2h30m ago", At(NOON - 26 * HOUR - HOUR // 2)),
        ("PT2H30M", At(NOON - 2 * HOUR - HOUR // 2)),
        ("P1D", At(NOON - 24 * HOUR)),
        ("2026-01-31T11:00:00Z", At(NOON - HOUR)),
        ("2026-01-31T12:00:00+01:00", At(NOON - HOUR)),
        ("2026-01-31 11:00", At(NOON - HOUR)),
        ("2026-01-31", At(NOON - 12 * HOUR)),
    ],
)
def test_understood(text: object, moment: Moment) -> None:
    assert parse(text, NOW) == moment


@pytest.mark.parametrize(
    "text", ["", "P", "PT", "soon", "1.5", "-", "+", "h", "2026-13-01", -1, True, None, [], "9" * 30, 10**30]
)
def test_refused_with_what_is_expected(text: object) -> None:
    with pytest.raises(BadRequest, match="expected earliest"):
        parse(text, NOW)


class _NoTopics:
    """The brokers, while none of a sink's topics is there."""

    async def partitions(self) -> dict[str, list[int]]:
        return {}


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (SeekTarget(Edge(end=False)), "no topic that it reads is there"),
        (SeekTarget(Edge(end=False), "t"), "no partition of the topic t "),
        (SeekTarget(Edge(end=False), "t", 3), "no partition t-3 "),
    ],
)
async def test_nowhere_to_go(target: SeekTarget, message: str) -> None:
    travel = SeekResolver(cast("Positions", _NoTopics()))
    with pytest.raises(BadRequest, match=message):
        await travel.resolve({}, lambda topic: True, [target])

"""How long work waits for an absent worker when the clocks of two leaders differ."""

from __future__ import annotations

import asyncio
import time

import pytest

from runtime.herder.group.assignor import Unit
from runtime.herder.group.departures import Departures
from runtime.herder.group.leader import GroupView, lead
from runtime.storage.documents import Documents
from tests.support.herder.memory_logs import TestLogs, topic
from tests.unit.runtime.herder.group.test_leader import WEIGHTS, ours

DELAY, GONE = 300.0, "127.0.0.1:3"


@pytest.fixture
def documents() -> Documents:
    return Documents(TestLogs(), topic("j"))


def ahead(seconds: float) -> float:
    return time.time() + seconds


async def _announced(documents: Documents, skew: float, *, started_later: bool = False) -> float:
    """The seconds until the next rebalance that a second leader announces; the clock of the first was `skew` ahead."""
    first, second = Departures(documents, lambda: ahead(skew)), Departures(documents)
    await first.note([GONE], [], DELAY)
    if started_later:
        second = Departures(documents)
    view = GroupView(5, WEIGHTS, dict.fromkeys(WEIGHTS, GONE), second.times(), delay=DELAY)
    found = lead("a", {"a": ours(1), "b": ours(2)}, view).assignments
    assert {Unit(c, t) for a in found.values() for c, ts in a.assigned.items() for t in ts} in (set(), set(WEIGHTS))
    return found["a"].delay / 1000


@pytest.mark.parametrize("started_later", [False, True])
@pytest.mark.parametrize("skew, waits", [(3600.0, DELAY), (0.0, DELAY), (-100.0, DELAY - 100), (-3600.0, 0.0)])
async def test_no_clock_prolongs_the_delay(
    documents: Documents, skew: float, waits: float, started_later: bool
) -> None:
    found = await _announced(documents, skew, started_later=started_later)
    assert waits - 5 <= found <= waits + 0.001 or (waits, found) == (0.0, 0.0)


async def test_a_departure_ends_after_the_delay_whatever_the_leader_before_recorded(documents: Documents) -> None:
    first, second = Departures(documents, lambda: ahead(3600.0)), Departures(documents)
    await first.note([GONE], [], DELAY)
    await second.note([GONE], [], 0.0)
    assert not second.times()
    assert not first.times()


async def test_rebalances_of_the_second_leader_do_not_start_the_delay_again(documents: Documents) -> None:
    first, second = Departures(documents, lambda: ahead(3600.0)), Departures(documents)
    await first.note([GONE], [], DELAY)
    before = second.times()[GONE]
    await second.note([GONE, "w:9"], [], DELAY)
    await asyncio.sleep(0.05)
    assert second.times()[GONE] == pytest.approx(before, abs=0.02)

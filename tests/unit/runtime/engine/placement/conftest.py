"""A roster and its clock."""

from __future__ import annotations

import pytest

from runtime.engine.placement.roster import Roster
from tests.support.clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def roster(clock: Clock) -> Roster:
    return Roster(slots=2, wait=3.0, clock=clock, max_extra_slots=8)

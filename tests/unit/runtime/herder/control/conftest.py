"""A worker whose control loops wait for a moment only."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from runtime.herder.control.start_control import StartTimes
from tests.support.herder.herder_rig import HerderRig


@pytest.fixture
async def rig() -> AsyncIterator[HerderRig]:
    rig = HerderRig(StartTimes(retry_delay=0.01, step_timeout=0.01))
    yield rig
    await rig.close()

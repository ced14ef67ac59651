"""Offsets of exactly-once sources change after a round of fencing."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from runtime.herder.errors import HerderError, Unavailable
from runtime.herder.offsets.offset_requests import OffsetRequests
from runtime.kafka.errors import BrokerUnavailable, NotAuthorizedError
from runtime.model.states import State, TargetState
from tests.support.herder.herder_rig import HerderRig

CHANGE = [({"file": "f"}, {"position": 1})]


class Rig(HerderRig):
    def __init__(self) -> None:
        super().__init__(exactly_once_source_support="enabled")
        self.requests = OffsetRequests(
            self.herder, self.configs, self.settling, self.host, self.stored_offsets, self.changes,
            self.fencing.fence_earlier,
        )  # fmt: skip

    async def stop(self) -> None:
        await self.herder.stop("a")
        await self.until(lambda: self.state("a") is State.STOPPED and not self.engine.running)
        self.fenced.clear()


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    rig = Rig()
    await rig.run("a", tasks_max="2")
    await rig.stop()
    yield rig
    await rig.close()


async def test_tasks_are_fenced_before_the_connector_is_asked(rig: Rig) -> None:
    rig.refuse_fencing = NotAuthorizedError("grant it")
    with pytest.raises(HerderError, match="Failed to perform zombie fencing of connector a: grant it"):
        await rig.requests.alter("a", CHANGE)
    rig.refuse_fencing = BrokerUnavailable("no answer")
    with pytest.raises(Unavailable, match="no answer; no offsets were changed"):
        await rig.requests.reset("a")
    assert rig.plugins.altered == []
    rig.refuse_fencing = None
    await rig.requests.alter("a", CHANGE)
    await rig.requests.reset("a")  # nothing has run since
    assert rig.fenced == [["workers-a-0", "workers-a-1"]] * 3
    assert rig.configs.fencing_counts == {"a": 0}


async def test_a_connector_whose_tasks_cannot_be_fenced_is_not_deleted_with_its_offsets(rig: Rig) -> None:
    await rig.herder.set_target("a", TargetState.STARTED)
    await rig.until(lambda: len(rig.engine.running) == 2)
    rig.refuse_fencing = BrokerUnavailable("no answer")
    with pytest.raises(Unavailable):
        await rig.requests.delete("a")
    stored = rig.configs.connector("a")
    assert stored is not None
    assert (stored.target, len(stored.tasks)) == (TargetState.STARTED, 2)
    rig.refuse_fencing = None
    await rig.requests.delete("a")
    assert rig.configs.connector("a") is None


async def test_sinks_need_no_fencing(rig: Rig) -> None:
    await rig.create("s", TargetState.STOPPED, connector_class="Sink", topics="t")
    await rig.until(lambda: rig.state("s") is State.STOPPED)
    await rig.requests.reset("s")
    assert rig.fenced == []

"""A deletion with offsets that ends between the stop of the connector and the journal's entry of the deletion."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from runtime.herder.errors import Conflict
from runtime.herder.offsets.offset_change import OffsetChanges
from runtime.herder.offsets.offset_requests import OffsetRequests
from runtime.kafka.errors import BrokerUnavailable
from runtime.model.states import State, TargetState
from tests.support.herder.herder_rig import HerderRig


class Rig(HerderRig):
    """A connector whose hook does not return; `hook_called` is set when it has been called."""

    def __init__(self) -> None:
        super().__init__()
        self.requests = self._requests(self.changes)
        self.hook_called = asyncio.Event()
        self.plugins.alter_source_offsets = self._hang  # type: ignore[method-assign]

    def _requests(self, changes: OffsetChanges) -> OffsetRequests:
        return OffsetRequests(self.herder, self.configs, self.settling, self.host, self.stored_offsets, changes)

    async def _hang(self, config: Mapping[str, str], offsets: Sequence[Any]) -> bool:
        self.hook_called.set()
        await asyncio.Event().wait()
        return True

    async def interrupted(self) -> OffsetChanges:
        """Ends a deletion in the connector's hook as a killed worker does; returns the changes of the next worker."""
        deletion = asyncio.create_task(self.requests.delete("a"))
        await self.hook_called.wait()
        assert self.shown() == (TargetState.STOPPED, 0)
        deletion.cancel()
        await asyncio.gather(deletion, return_exceptions=True)
        self.changes.close()
        return OffsetChanges(self.journal, self.configs, self.stored_offsets, self.settling, self.locks)

    def shown(self) -> tuple[TargetState, int]:
        stored = self.configs.connector("a")
        assert stored is not None
        return stored.target, len(stored.tasks)


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    rig = Rig()
    await rig.run("a", tasks_max="2")
    yield rig
    await rig.close()
    rig.changes.close()


@pytest.mark.parametrize("target", [TargetState.STARTED, TargetState.PAUSED])
async def test_the_connector_continues_as_before(rig: Rig, target: TargetState) -> None:
    await rig.configs.put_target_state("a", target)
    next_changes = await rig.interrupted()
    with pytest.raises(Conflict, match="interrupted"):
        next_changes.check_no_pending_change("a")
    assert await next_changes.finish()
    next_changes.check_no_pending_change("a")
    assert rig.shown() == (target, 2)
    state = State.RUNNING if target is TargetState.STARTED else State.PAUSED
    await rig.until(lambda: rig.tasks("a") == {0: state, 1: state})
    assert await rig.journal.history("a") == [], "no offsets were changed"
    next_changes.close()


async def test_tasks_of_an_earlier_config_are_not_restored(rig: Rig) -> None:
    """They would count as those of the present config, which may allow fewer of them."""
    await rig.configs.put_target_state("a", TargetState.PAUSED)
    stored = rig.configs.connector("a")
    assert stored is not None
    await rig.configs.put_connector("a", {**stored.config, "tasks.max": "1"})
    next_changes = await rig.interrupted()
    assert await next_changes.finish()
    assert rig.shown() == (TargetState.PAUSED, 0)
    await rig.configs.put_target_state("a", TargetState.STARTED)
    await rig.until(lambda: rig.tasks("a") == {0: State.RUNNING})
    next_changes.close()


@pytest.mark.parametrize("key", [b"commit-a", b"target-state-a"])
async def test_a_connector_that_could_not_be_started_again_starts_later(rig: Rig, key: bytes) -> None:
    """The worker is killed while it starts the connector again."""
    next_changes = await rig.interrupted()
    log = rig.logs.by_topic["c"]
    log.failure = lambda written, value: BrokerUnavailable("no answer") if written == key else None
    assert not await next_changes.finish()
    log.failure = lambda written, value: None
    assert await next_changes.finish()
    assert rig.shown() == (TargetState.STARTED, 2)
    next_changes.close()


async def test_a_cancelled_deletion_is_undone_by_the_same_worker(rig: Rig) -> None:
    deletion = asyncio.create_task(rig.requests.delete("a"))
    await rig.hook_called.wait()
    deletion.cancel()
    await asyncio.gather(deletion, return_exceptions=True)
    assert await rig.changes.finish()
    assert rig.shown() == (TargetState.STARTED, 2)


async def test_offsets_that_cannot_be_read_do_not_leave_the_connector_stopped(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_answer(name: str, group: str | None) -> list[Any]:
        raise BrokerUnavailable("no answer")

    monkeypatch.setattr(rig.stored_offsets, "read", no_answer)
    with pytest.raises(BrokerUnavailable):
        await rig.requests.delete("a")
    assert rig.shown() == (TargetState.STARTED, 2)
    assert rig.journal.all_pending() == []

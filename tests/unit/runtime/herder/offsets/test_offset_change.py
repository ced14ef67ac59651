"""Interrupted changes of offsets are finished once, in the order of the connector's requests."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from runtime.herder.configs.sink_clusters import SinkClusters
from runtime.herder.control.connector_locks import ConnectorLocks
from runtime.herder.errors import Conflict
from runtime.herder.offsets.offset_change import OffsetChanges
from runtime.herder.offsets.settling import GroupSettling
from runtime.herder.offsets.stored_offsets import StoredOffsets
from runtime.kafka.errors import BrokerUnavailable, GroupError, StorageTopicError
from runtime.model.states import TargetState
from runtime.offsets_tool.stores import removal
from runtime.storage.configs import ConfigStore
from runtime.storage.connector_offsets import ConnectorOffsets
from runtime.storage.documents import PIECE_SIZE, Documents
from runtime.storage.journal import OffsetAction, OffsetJournal, PlannedChange
from runtime.storage.offsets import OffsetStore
from runtime.system import loop_turns
from tests.support.herder.memory_logs import TestLogs, topic
from tests.support.never_called import NEVER_CALLED


class Rig:
    """Offset changes on real stores in memory."""

    def __init__(self) -> None:
        logs = TestLogs()
        store = OffsetStore(logs, topic("offsets"))
        own = ConnectorOffsets(store, topic, NEVER_CALLED, lambda name: None, lambda config: "", list)
        self.journal, self.locks = OffsetJournal(logs, topic("journal")), ConnectorLocks()
        self.stored_offsets = StoredOffsets(own, cast(SinkClusters, None))
        self.configs = ConfigStore(logs, topic("configs"))
        self.changes = OffsetChanges(
            self.journal, self.configs, self.stored_offsets, cast(GroupSettling, None), self.locks, retry_delay=0.0
        )
        self.offset_log, self.journal_log = logs.by_topic["offsets"], logs.by_topic["journal"]

    async def patch(self, name: str, position: int) -> None:
        """A client's request, as OffsetRequests serves it."""
        self.changes.check_not_finishing(name)
        async with self.locks.hold(name):
            self.changes.check_no_pending_change(name)
            await self.changes.carry_out(_intent(name, position))

    async def position(self, name: str) -> int:
        [(_, offset)] = await self.stored_offsets.read(name, None)
        assert offset is not None
        return int(offset["position"])


def _intent(name: str, position: int) -> PlannedChange:
    return PlannedChange(name, OffsetAction.ALTER, (({"filename": "f"}, {"position": position}),), ())


@pytest.fixture
def rig() -> Rig:
    return Rig()


async def test_offsets_of_a_deleted_topic_are_shown_as_far_as_they_were_read(rig: Rig) -> None:
    await rig.patch("a", 7)
    rig.offset_log.lost = "topic offsets was deleted"
    assert await rig.stored_offsets.shown("a", None) == [({"filename": "f"}, {"position": 7})]
    with pytest.raises(StorageTopicError, match="was deleted"):
        await rig.stored_offsets.read("a", None)


async def test_a_change_in_progress_when_finishing_begins_does_not_overwrite_later_changes(rig: Rig) -> None:
    await rig.journal.begin(_intent("a", 1))  # interrupted, as a crash leaves it
    rig.offset_log.held = b'"b"'
    first = asyncio.create_task(rig.patch("b", 100))
    await rig.offset_log.holding.wait()  # its intent is in the journal, its offset is not written yet
    rig.offset_log.held, rig.offset_log.holding = b'"a"', asyncio.Event()
    finishing = asyncio.create_task(rig.changes.finish())
    await rig.offset_log.holding.wait()  # it has seen both intents, and writes the offsets of "a"
    rig.offset_log.held = b""
    rig.offset_log.may_go.set()
    await first
    await rig.patch("b", 200)
    assert await finishing
    assert (await rig.position("a"), await rig.position("b")) == (1, 200)
    assert len(await rig.journal.history("b")) == 2


async def test_a_change_of_many_offsets_is_read_again_only_to_finish_or_show_it(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading it takes a second for 100,000 offsets, on the worker's event loop."""
    offsets = tuple(({"filename": f"{n:0200}"}, {"position": n}) for n in range(PIECE_SIZE // 200))
    with monkeypatch.context() as patch:
        patch.setattr(Documents, "get", NEVER_CALLED)
        await rig.changes.carry_out(PlannedChange("a", OffsetAction.ALTER, offsets, (), time=1))
        await rig.changes.carry_out(PlannedChange("a", OffsetAction.RESET, offsets, offsets, time=2))
        assert rig.journal.latest("a") == (2, 2)
    newest, oldest = await rig.journal.history("a")
    assert (newest.before, newest.number, oldest.after, oldest.number) == (offsets, 2, offsets, 1)


async def test_the_event_loop_runs_while_many_offsets_change(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_turns, "TURN", 0.0)
    change = asyncio.create_task(
        rig.stored_offsets.set("a", None, [({"filename": f"{n}"}, {"position": n}) for n in range(1_000)])
    )
    turns = 0
    while not change.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 1_000 and len(await rig.stored_offsets.read("a", None)) == 1_000


async def test_finishing_waits_for_the_request_that_holds_the_connector(rig: Rig) -> None:
    rig.offset_log.held = b'"b"'
    request = asyncio.create_task(rig.patch("b", 100))
    await rig.offset_log.holding.wait()
    finishing = asyncio.create_task(rig.changes.finish())
    for _ in range(10):
        await asyncio.sleep(0)
    assert not finishing.done()
    rig.offset_log.may_go.set()
    await request
    assert await finishing
    assert len(await rig.journal.history("b")) == 1, "the change was applied once"


async def test_requests_are_refused_at_once_while_an_interrupted_change_is_being_finished(rig: Rig) -> None:
    await rig.journal.begin(_intent("a", 1))
    rig.offset_log.held = b'"a"'
    finishing = asyncio.create_task(rig.changes.finish())
    await rig.offset_log.holding.wait()
    with pytest.raises(Conflict, match="is being finished"):
        await rig.patch("a", 5)
    rig.offset_log.may_go.set()
    assert await finishing
    await rig.patch("a", 5)
    assert await rig.position("a") == 5


async def test_an_intent_whose_write_was_not_confirmed_blocks_later_requests_until_it_is_finished(rig: Rig) -> None:
    rig.journal_log.away = True
    with pytest.raises(BrokerUnavailable, match=r"no answer; the change of .* connector a is finished later"):
        await rig.patch("a", 100)
    with pytest.raises(Conflict):
        await rig.patch("a", 200)
    rig.journal_log.away = False
    assert await rig.changes.finish()
    assert await rig.position("a") == 100
    await rig.patch("a", 200)
    assert await rig.changes.finish()
    assert await rig.position("a") == 200
    assert rig.journal.all_pending() == []
    rig.changes.close()


async def test_a_change_whose_end_is_repeated_is_in_the_history_once(rig: Rig) -> None:
    unavailable = BrokerUnavailable("no answer")
    rig.journal_log.failure = lambda key, value: unavailable if value is None else None  # the intent is not removed
    with pytest.raises(BrokerUnavailable):
        await rig.patch("a", 100)
    rig.journal_log.failure = lambda key, value: None
    assert await rig.changes.finish()
    assert [past.after for past in await rig.journal.history("a")] == [_intent("a", 100).offsets]
    await rig.patch("a", 101)
    assert len(await rig.journal.history("a")) == 2
    rig.changes.close()


async def test_an_error_of_one_connector_does_not_block_changes_of_others(rig: Rig) -> None:
    for name in ("a", "b"):
        await rig.journal.begin(_intent(name, 7))
    rig.offset_log.failure = lambda key, value: OSError("disk full") if b'"a"' in key else None
    assert not await rig.changes.finish()
    assert await rig.position("b") == 7
    rig.offset_log.failure = lambda key, value: None
    assert await rig.changes.finish()
    assert await rig.position("a") == 7


async def test_a_creation_that_was_interrupted_after_its_last_step_leaves_the_progress_of_the_tasks(rig: Rig) -> None:
    """The worker died after the connector's configuration was written, and the tasks have read on since."""
    config = {"connector.class": "S"}
    offsets = (({"filename": "f"}, {"position": 5}),)
    intent = PlannedChange("a", OffsetAction.CREATE, offsets, (), config=config)
    await rig.journal.begin(intent)
    await rig.configs.put_connector("a", config)
    await rig.stored_offsets.set("a", None, (({"filename": "f"}, {"position": 900}),))
    assert await rig.changes.finish()
    assert await rig.position("a") == 900
    assert rig.journal.all_pending() == []


async def test_a_creation_of_a_former_leader_is_not_refused_but_finished_later(rig: Rig) -> None:
    """A conflict means that nothing was changed; but the change is in the journal."""
    is_deposed = True

    def check_leads() -> None:
        if is_deposed:
            raise Conflict("another worker leads")

    rig.configs.guard(check_leads)
    offsets = (({"filename": "f"}, {"position": 5}),)
    with pytest.raises(BrokerUnavailable, match="is finished later"):
        await rig.changes.carry_out(PlannedChange("a", OffsetAction.CREATE, offsets, (), config={}))
    is_deposed = False
    assert await rig.changes.finish()
    assert rig.configs.names() == ["a"] and await rig.position("a") == 5
    rig.changes.close()


@pytest.mark.parametrize("point", ["before the first step", "in the first step"])
async def test_a_change_that_the_next_leader_has_finished_is_neither_continued_nor_rolled_back(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """The former leader was frozen meanwhile, and does not know yet that another worker leads."""
    intent = PlannedChange("a", OffsetAction.CREATE, (({"filename": "f"}, {"position": 5}),), (), config={})

    async def finished_elsewhere() -> None:
        await rig.configs.put_connector("a", {})
        await rig.stored_offsets.set("a", None, (({"filename": "f"}, {"position": 900}),))  # the tasks read on
        await rig.journal.done(intent)

    async def wipe(name: str, group: str | None) -> None:
        await finished_elsewhere()
        raise GroupError("group connect-a has members")

    if point == "in the first step":
        monkeypatch.setattr(rig.stored_offsets, "wipe", wipe)
    else:
        begin = rig.journal.begin

        async def begun(planned: PlannedChange) -> None:
            await begin(planned)
            await finished_elsewhere()

        monkeypatch.setattr(rig.journal, "begin", begun)
    with pytest.raises(BrokerUnavailable, match="is finished later"):
        await rig.changes.carry_out(intent)
    rig.changes.close()
    assert await rig.position("a") == 900


async def test_a_change_that_a_former_leader_writes_late_does_not_undo_later_changes(rig: Rig) -> None:
    """Without exactly-once support nothing fences the producer of a former leader that could not reach Kafka."""
    await rig.patch("a", 1)
    rig.journal_log.away = True
    with pytest.raises(BrokerUnavailable):
        await rig.patch("a", 100)
    rig.changes.close()  # another worker leads
    late, rig.journal_log.queued = rig.journal_log.queued, []
    rig.journal_log.away = False
    await rig.patch("a", 200)
    await rig.journal_log.write_all(late)
    with pytest.raises(Conflict):
        await rig.patch("a", 300)
    assert await rig.changes.finish()
    assert await rig.position("a") == 200
    await rig.patch("a", 300)
    assert await rig.position("a") == 300
    rig.changes.close()


async def test_offsets_of_a_connector_that_runs_again_are_not_changed_by_a_former_leader(rig: Rig) -> None:
    rig.journal_log.away = True
    with pytest.raises(BrokerUnavailable):
        await rig.patch("a", 100)
    rig.changes.close()
    rig.journal_log.away = False
    await rig.configs.put_connector("a", {"connector.class": "S"})
    await rig.stored_offsets.set("a", None, (({"filename": "f"}, {"position": 900}),))
    await rig.journal_log.write_all(())
    assert [intent.connector for intent in rig.journal.all_pending()] == ["a"]
    assert await rig.changes.finish()
    assert await rig.position("a") == 900 and rig.journal.all_pending() == []


async def test_a_change_that_never_reached_the_journal_does_not_block_a_connector_that_runs_again(rig: Rig) -> None:
    rig.journal_log.away = True
    with pytest.raises(BrokerUnavailable):
        await rig.patch("a", 100)
    await rig.configs.put_connector("a", {"connector.class": "S"})
    rig.journal_log.away, rig.journal_log.queued = False, []
    assert await rig.changes.finish()
    await rig.patch("a", 200)
    rig.changes.close()


async def test_a_connector_may_have_been_stopped_through_another_worker(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    await rig.configs.put_connector("a", {"connector.class": "S"})
    await rig.journal.begin(rig.journal.numbered(_intent("a", 1)))

    async def read_to_end() -> None:
        await rig.configs.put_target_state("a", TargetState.STOPPED)

    monkeypatch.setattr(rig.configs, "read_to_end", read_to_end)
    assert await rig.changes.finish()
    assert await rig.position("a") == 1


async def test_a_worker_of_an_earlier_version_can_finish_a_change(rig: Rig) -> None:
    """It refuses a document with another field. The group may have such workers during an upgrade."""
    await rig.patch("a", 1)
    rig.offset_log.failure = lambda key, value: BrokerUnavailable("no response")
    with pytest.raises(BrokerUnavailable):
        await rig.patch("a", 2)
    assert set(rig.journal.documents.get("intent:a") or ()) == {
        "connector", "action", "offsets", "before", "group", "config", "initial_state", "tasks", "origin", "id", "time",
    }  # fmt: skip
    rig.changes.close()


async def test_removals_that_an_interrupted_import_has_left_are_finished_before_the_connector_starts(rig: Rig) -> None:
    """Its connectors need not be STOPPED: the whole cluster was."""
    await rig.configs.put_connector("a", {"connector.class": "S"})
    await rig.stored_offsets.set("a", None, (({"filename": "f"}, {"position": 1}),))
    await rig.journal.begin(removal("a", cast(str, None), (({"filename": "f"}, {"position": 1}),)))
    assert await rig.changes.finish()
    assert await rig.stored_offsets.read("a", None) == []

"""Workers that read the config topic after compaction see what workers saw that have read every record."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from runtime.kafka.log.log import LogRecord
from runtime.model.states import TargetState
from runtime.storage.configs import ConfigStore
from tests.support.herder.memory_logs import Record, TestLogs, topic

CONFIG = {"name": "c"}


class Topic:
    """A config topic with one live reader, which also writes."""

    def __init__(self, mixed: bool = False) -> None:
        logs = TestLogs()
        self.live = ConfigStore(logs, topic("c"), mixed=mixed)
        self.log = logs.by_topic["c"]

    async def raw(self, *records: Record) -> None:
        """Writes records as Apache's worker does."""
        await self.log.write_all(records)

    async def apache_deletes(self, name: str) -> None:
        await self.raw((b"connector-" + name.encode(), None), (b"target-state-" + name.encode(), None))

    def late(self, compacted: int | None = None, tombstones: bool = False) -> ConfigStore:
        """A worker that reads the topic after compaction of the first `compacted` records (None: all), with or without
        `tombstones` that are to be removed later."""
        head = self.log.written[:compacted]
        last = {key: at for at, (key, _) in enumerate(head)}
        kept = [r for at, r in enumerate(head) if last[r[0]] == at and (tombstones or r[1] is not None)]
        return read([*kept, *self.log.written[len(head) :]])


def read(records: Sequence[Record]) -> ConfigStore:
    store = ConfigStore(TestLogs(), topic("c"))
    store.apply([LogRecord(key, value, 0, offset, 1) for offset, (key, value) in enumerate(records)])
    return store


def tasks(store: ConfigStore, name: str = "c") -> tuple[dict[str, str], ...]:
    stored = store.connector(name)
    assert stored is not None
    return stored.tasks


@pytest.mark.parametrize("tombstones", [False, True])
async def test_a_connector_of_the_same_name_does_not_get_the_tasks_that_apaches_worker_left(tombstones: bool) -> None:
    one = Topic()
    await one.live.put_connector("c", CONFIG)
    await one.live.put_tasks("c", [{"n": "0"}, {"n": "1"}])
    await one.apache_deletes("c")
    assert one.late(tombstones=tombstones).connector("c") is None
    await one.live.put_connector("c", CONFIG)
    assert tasks(one.late(tombstones=tombstones)) == tasks(one.live) == ()


async def test_task_configs_that_arrive_after_the_deletion_are_dropped() -> None:
    one = Topic()
    await one.live.put_connector("c", CONFIG)
    await one.live.remove_connector("c")
    await one.live.put_tasks("c", [{"n": "0"}])  # on their way when the connector was deleted
    await one.live.put_connector("c", CONFIG)
    assert tasks(one.late()) == tasks(one.live) == ()


async def test_a_leader_removes_the_task_configs_of_deleted_connectors() -> None:
    """Not at the deletion: what is written then equals what Apache's worker writes."""
    one = Topic()
    await one.live.put_connector("c", CONFIG)
    for count in (3, 1):
        await one.live.put_tasks("c", [{"n": str(n)} for n in range(count)])
    await one.live.remove_connector("c")
    await one.live.remove_remains()
    last = dict(one.log.written)
    assert {key for key in last if key.startswith((b"task-", b"commit-"))} == {
        b"task-c-0", b"task-c-1", b"task-c-2", b"commit-c"
    }  # fmt: skip
    assert set(last.values()) == {None}


async def test_in_a_mixed_group_the_records_of_tasks_remain() -> None:
    """Apache's worker ignores a commit record without a connector, but logs an error for a task config without a
    value."""
    one = Topic(mixed=True)
    await one.live.put_connector("c", CONFIG)
    await one.live.put_tasks("c", [{"n": "0"}])
    await one.live.remove_connector("c")
    await one.live.remove_remains()
    last = dict(one.log.written)
    assert last[b"task-c-0"] is not None
    assert last[b"commit-c"] is None


@pytest.mark.parametrize(
    ("config", "target"),
    [
        (CONFIG, TargetState.STARTED),
        ({**CONFIG, "headrace.rate.records": "5"}, TargetState.STARTED),
        ({**CONFIG, "other": "key"}, TargetState.PAUSED),
    ],
)
async def test_a_config_that_no_task_configs_follow_does_not_cost_the_tasks(
    config: dict[str, str], target: TargetState
) -> None:
    """Compaction removes the connector's record from before its tasks."""
    one = Topic()
    await one.live.put_connector("c", CONFIG)
    await one.live.put_tasks("c", [{"n": "0"}, {"n": "1"}])
    await one.live.put_target_state("c", target)
    await one.live.put_connector("c", config)
    assert tasks(one.late()) == tasks(one.live) == ({"n": "0"}, {"n": "1"})


async def test_a_connector_whose_start_failed_still_has_its_tasks_when_it_is_changed_again() -> None:
    """Compaction has removed the connector's record from before its tasks, not the one whose start failed."""
    one = Topic()
    await one.live.put_connector("c", CONFIG)
    await one.live.put_tasks("c", [{"n": "0"}])
    await one.live.put_connector("c", {**CONFIG, "start": "fails"})
    failed = len(one.log.written)
    await one.live.put_target_state("c", TargetState.PAUSED)
    await one.live.put_connector("c", {**CONFIG, "start": "works"})
    assert tasks(one.late(compacted=failed)) == tasks(one.live) == ({"n": "0"},)


async def test_a_connector_that_is_paused_before_its_tasks_follow_a_change_keeps_the_earlier_ones() -> None:
    one = Topic()
    await one.live.put_connector("c", CONFIG)
    await one.live.put_tasks("c", [{"n": "0"}])
    await one.live.put_connector("c", {**CONFIG, "other": "key"})
    await one.live.put_target_state("c", TargetState.PAUSED)
    assert tasks(one.late()) == tasks(one.live) == ({"n": "0"},)


async def test_tasks_that_the_leader_takes_for_those_of_a_deleted_connector_are_gone_for_all_when_it_is_paused() -> (
    None
):
    one = Topic()
    await one.live.put_tasks("c", [{"n": "0"}])  # the record of the connector before them has been compacted away
    await one.live.put_connector("c", CONFIG)
    assert tasks(one.live) == ()
    await one.live.put_target_state("c", TargetState.PAUSED)
    earlier = [(b"connector-c", b'{"properties":{}}'), *one.log.written]
    assert tasks(read(earlier)) == tasks(one.live) == ()


@pytest.mark.parametrize("seed", range(100))
async def test_late_readers_agree_with_live_readers(seed: int) -> None:
    chance, one = random.Random(seed), Topic(mixed=seed % 3 == 0)
    for step in range(40):
        await _change(one, chance, step)
    for compacted in (None, *(chance.randrange(len(one.log.written)) for _ in range(5))):
        late = one.late(compacted, tombstones=chance.random() < 0.5)
        assert _seen(late) == _seen(one.live), f"after compaction of {compacted} records of {one.log.written}"


async def _change(one: Topic, chance: random.Random, step: int) -> None:
    name = chance.choice("ab")
    stored = one.live.connector(name)
    match chance.randrange(6):
        case 0 | 1 if stored is None:
            await one.live.put_connector(name, {"name": name}, chance.choice([None, *TargetState]))
        case 1 | 2 if stored is None or stored.target is not TargetState.STOPPED:
            await one.live.put_tasks(name, [{"at": f"{step}-{n}"} for n in range(chance.randrange(4))])
        case 0 if stored is not None and chance.random() < 0.3:
            await one.live.put_connector(name, {**stored.config, "paused": str(step)})
            await one.live.put_target_state(name, TargetState.PAUSED)
        case 0 if stored is not None:
            await one.live.put_connector(name, {**stored.config, "step": str(step // 20)})
            if stored.target is TargetState.STARTED:
                await one.live.put_tasks(name, stored.tasks)
        case 3 if stored is not None:
            target = chance.choice(list(TargetState))
            if target is TargetState.STOPPED:
                await one.live.put_tasks(name, [])
            await one.live.put_target_state(name, target)
        case 4 if stored is not None:
            await one.live.remove_connector(name)
            if chance.random() < 0.5:
                await one.live.remove_remains()
        case 5 if stored is not None:
            await one.apache_deletes(name)


def _seen(store: ConfigStore) -> dict[str, object]:
    found = {name: store.connector(name) for name in store.names()}
    return {name: (s.config, s.target, s.tasks, s.inconsistent) for name, s in found.items() if s is not None}

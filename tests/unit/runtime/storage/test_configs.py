"""The config store on a real broker."""

from __future__ import annotations

import asyncio

import pytest

from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.model.states import TargetState
from runtime.storage.configs import ConfigStore, RestartRequest, TaskConfigsChanged
from tests.support.herder.memory_logs import TestLogs, topic
from tests.support.kafka.stores import MakeStores

CONFIG = {"connector.class": "FileStreamSource", "name": "c"}


async def test_a_connector_from_creation_to_deletion(stores: MakeStores) -> None:
    one = await stores()
    changes: list[str] = []
    one.configs.subscribe(changes=changes.append)
    assert one.configs.connector("c") is None
    await one.configs.put_connector("c", CONFIG)
    stored = one.configs.connector("c")
    assert stored is not None
    assert (stored.config, stored.target, stored.tasks) == (CONFIG, TargetState.STARTED, ())
    await one.configs.put_tasks("c", [{"task": "0"}, {"task": "1"}])
    await one.configs.put_target_state("c", TargetState.PAUSED)
    changed = one.configs.connector("c")
    assert changed is not None
    assert (changed.target, changed.tasks) == (TargetState.PAUSED, ({"task": "0"}, {"task": "1"}))
    assert stored.tasks == ()  # a snapshot
    await one.configs.put_tasks("c", [])
    await one.configs.put_target_state("c", TargetState.STOPPED)
    again = (await stores(one.prefix)).configs.connector("c")
    assert again == one.configs.connector("c")
    assert again is not None
    assert (again.target, again.tasks) == (TargetState.STOPPED, ())
    await one.configs.remove_connector("c")
    assert one.configs.connector("c") is None
    assert one.configs.names() == []
    assert set(changes) == {"c"}


async def test_the_initial_state_applies_from_the_start(stores: MakeStores) -> None:
    """The connector is never visible without its initial state."""
    one = await stores()
    seen: list[TargetState] = []

    def look(name: str) -> None:
        stored = one.configs.connector(name)
        if stored is not None:
            seen.append(stored.target)

    one.configs.subscribe(changes=look)
    await one.configs.put_connector("c", CONFIG, TargetState.STOPPED)
    assert set(seen) == {TargetState.STOPPED}


async def test_target_state_does_not_survive_deletion(stores: MakeStores) -> None:
    one = await stores()
    await one.configs.put_connector("c", CONFIG, TargetState.PAUSED)
    await one.configs.remove_connector("c")
    await one.configs.put_connector("c", CONFIG)
    stored = one.configs.connector("c")
    assert stored is not None
    assert stored.target is TargetState.STARTED


async def test_target_states_of_workers_before_3_5_are_read(stores: MakeStores) -> None:
    """Workers before 3.5 wrote no state.v2."""
    one = await stores()
    await one.configs.put_connector("c", CONFIG)
    await one.raw("configs", (b"target-state-c", b'{"state":"PAUSED"}'))
    stored = one.configs.connector("c")
    assert stored is not None
    assert stored.target is TargetState.PAUSED


async def test_incomplete_task_sets_are_ignored(stores: MakeStores) -> None:
    """After compaction, the task records of a commit may have been replaced by later, uncommitted ones."""
    one = await stores()
    await one.configs.put_connector("c", CONFIG)
    await one.raw(
        "configs",
        (b"task-c-1", b'{"properties":{"n":"1"}}'),
        (b"commit-c", b'{"tasks":2}'),
        (b"task-c-0", b'{"properties":{"n":"new"}}'),
    )
    stored = one.configs.connector("c")
    assert stored is not None
    assert stored.inconsistent
    assert stored.tasks == ()
    await one.configs.put_tasks("c", [{"n": "0"}])
    stored = one.configs.connector("c")
    assert stored is not None
    assert not stored.inconsistent
    assert stored.tasks == ({"n": "0"},)


async def test_task_records_of_a_deleted_connector_do_not_reappear(stores: MakeStores) -> None:
    """Compaction removed the deletion, since the name was used again, but not the old task records."""
    one = await stores()
    await one.raw(
        "configs",
        (b"task-c-0", b'{"properties":{"n":"old"}}'),
        (b"commit-c", b'{"tasks":1}'),
        (b"target-state-c", b'{"state":"PAUSED","state.v2":"STOPPED"}'),
        (b"connector-c", b'{"properties":{"name":"c"}}'),
    )
    stored = one.configs.connector("c")
    assert stored is not None
    assert stored.tasks == ()


async def test_names_with_dashes_and_other_letters(stores: MakeStores) -> None:
    one = await stores()
    for name in ("a-1", "task-b-0", "connector-x", "grün 日本", "a/b"):
        await one.configs.put_connector(name, {"name": name})
        await one.configs.put_tasks(name, [{"of": name}])
        stored = one.configs.connector(name)
        assert stored is not None
        assert stored.tasks == ({"of": name},)
    assert len(one.configs.names()) == 5


async def test_other_records_are_kept(stores: MakeStores) -> None:
    one = await stores()
    restarts: list[RestartRequest] = []
    levels: list[tuple[str, str]] = []
    one.configs.subscribe(restarts=restarts.append, logger_levels=lambda *level: levels.append(level))
    await one.configs.put_restart("c", True, False)
    await one.raw(
        "configs",
        (b"session-key", b'{"key":"M5yv","algorithm":"HmacSHA256","creation-timestamp":1}'),
        (b"tasks-fencing-c", b'{"task-count":3}'),
        (b"logger-cluster-org.x", b'{"level":"DEBUG"}'),
    )
    assert restarts == [RestartRequest("c", True, False)]
    assert one.configs.session_key == {"key": "M5yv", "algorithm": "HmacSHA256", "creation-timestamp": 1}
    assert one.configs.fencing_counts == {"c": 3}
    assert levels == [("org.x", "DEBUG")]
    assert one.configs.names() == []


async def test_fencing_is_pending_while_task_configs_are_newer_than_the_task_count(stores: MakeStores) -> None:
    one = await stores()
    configs = one.configs
    await configs.put_connector("c", {"name": "c"})
    assert not configs.pending_fencing("c")
    await configs.put_tasks("c", [{"n": "0"}, {"n": "1"}])
    old = configs.connector("c")
    assert old is not None
    assert configs.pending_fencing("c")
    await configs.put_fencing_count(old)
    assert (configs.pending_fencing("c"), configs.fencing_counts) == (False, {"c": 2})
    await configs.put_tasks("c", [])
    assert configs.pending_fencing("c")
    with pytest.raises(TaskConfigsChanged):
        await configs.put_fencing_count(old)
    await configs.remove_connector("c")  # tasks of a deleted connector may still run
    assert (configs.pending_fencing("c"), configs.fencing_counts) == (True, {"c": 2})


async def test_a_task_count_is_not_written_while_task_configs_are() -> None:
    logs = TestLogs()
    configs = ConfigStore(logs, topic("c"))
    await configs.put_connector("c", {"name": "c"})
    await configs.put_tasks("c", [{"n": "0"}])
    stored, log = configs.connector("c"), logs.by_topic["c"]
    assert stored is not None
    log.held = b"task-c-0"
    writing = asyncio.create_task(configs.put_tasks("c", [{"n": "0"}, {"n": "1"}]))
    await log.holding.wait()
    with pytest.raises(TaskConfigsChanged):
        await configs.put_fencing_count(stored)
    log.may_go.set()
    await writing


async def test_the_leader_writes_in_transactions_what_only_a_leader_may_write() -> None:
    logs = TestLogs()
    configs = ConfigStore(logs, topic("c"), TransactionalWriter({}, "leader"))
    await configs.put_connector("c", {"name": "c"}, TargetState.PAUSED)
    await configs.put_target_state("c", TargetState.STARTED)
    await configs.put_tasks("c", [{"n": "0"}])
    stored = configs.connector("c")
    assert stored is not None
    await configs.put_fencing_count(stored)
    await configs.put_session_key({})
    await configs.put_restart("c", False, False)
    await configs.put_logger_level("x", "DEBUG")
    await configs.remove_connector("c")
    log = logs.by_topic["c"]
    assert log.in_transactions == [
        b"target-state-c", b"connector-c", b"task-c-0", b"commit-c", b"tasks-fencing-c", b"session-key",
        b"restart-connector-c", b"connector-c", b"target-state-c",
    ]  # fmt: skip
    assert [key for key, _ in log.written if key not in log.in_transactions] == [b"logger-cluster-x"]


MALFORMED: tuple[tuple[bytes, bytes | None], ...] = (
    (b"connector-c", b"no json"),
    (b"connector-c", b"[]"),
    (b"connector-c", b'{"no":"properties"}'),
    (b"connector-c", b"\xff\xfe"),
    (b"connector-", b'{"properties":{}}'),
    (b"target-state-c", b'{"state":"ASLEEP"}'),
    (b"target-state-c", b"{}"),
    (b"task-c", b'{"properties":{}}'),
    (b"task-c-x", b'{"properties":{}}'),
    (b"task-c-0", None),
    (b"commit-c", b'{"tasks":-1}'),
    (b"commit-c", b'{"tasks":"1"}'),
    (b"commit-c", None),
    (b"who-knows", b"{}"),
    (b"\xff", b"{}"),
    (b"", b"{}"),
)


async def test_malformed_records_are_skipped_and_named(stores: MakeStores, caplog: pytest.LogCaptureFixture) -> None:
    one = await stores()
    await one.configs.put_connector("c", CONFIG)
    before = one.configs.connector("c")
    for offset, record in enumerate(MALFORMED, start=1):
        await one.raw("configs", record)
        assert one.configs.connector("c") == before, record
        assert f"offset {offset} of {one.prefix}-configs-0" in caplog.text, record

"""Storage records, byte for byte as Apache Kafka Connect 4.3.0 wrote them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from runtime.kafka.log.log import TopicLogs, TopicSpec
from runtime.model.states import State, TargetState, TaskId
from runtime.storage.configs import ConfigStore
from runtime.storage.offsets import OffsetStore
from runtime.storage.statuses import StatusRecord, StatusStore
from tests.support.broker import KafkaBroker, unique
from tests.support.kafka.stores import MakeStores
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, java_worker

CONNECTOR = {
    "connector.class": "FileStreamSource",
    "file": "/tmp/in.txt",
    "topic": "ptry",
    "tasks.max": "1",
    "name": "ptry1",
}
TASK = {
    "connector.class": "FileStreamSource",
    "file": "/tmp/in.txt",
    "task.class": "org.apache.kafka.connect.file.FileStreamSourceTask",
    "tasks.max": "1",
    "name": "ptry1",
    "topic": "ptry",
}
CONNECTOR_RECORD = (
    b"connector-ptry1",
    b'{"properties":{"connector.class":"FileStreamSource","file":"/tmp/in.txt","topic":"ptry","tasks.max":"1",'
    b'"name":"ptry1"}}',
)
TASK_RECORD = (
    b"task-ptry1-0",
    b'{"properties":{"connector.class":"FileStreamSource","file":"/tmp/in.txt",'
    b'"task.class":"org.apache.kafka.connect.file.FileStreamSourceTask","tasks.max":"1","name":"ptry1","topic":"ptry"}}',
)
COMMIT_RECORD = (b"commit-ptry1", b'{"tasks":1}')


async def test_config_records_in_order(stores: MakeStores) -> None:
    one = await stores()
    configs = one.configs
    await configs.put_connector("ptry1", CONNECTOR)
    await configs.put_tasks("ptry1", [TASK])
    await configs.put_target_state("ptry1", TargetState.PAUSED)
    await configs.put_target_state("ptry1", TargetState.STARTED)
    await configs.put_restart("ptry1", True, False)
    await configs.put_tasks("ptry1", [])
    await configs.put_target_state("ptry1", TargetState.STOPPED)
    await configs.remove_connector("ptry1")
    await configs.put_connector("ptry1", CONNECTOR, TargetState.STOPPED)
    assert await one.seen("configs") == [
        CONNECTOR_RECORD,
        TASK_RECORD,
        COMMIT_RECORD,
        (b"target-state-ptry1", b'{"state":"PAUSED","state.v2":"PAUSED"}'),
        (b"target-state-ptry1", b'{"state":"STARTED","state.v2":"STARTED"}'),
        (b"restart-connector-ptry1", b'{"include-tasks":true,"only-failed":false}'),
        (b"commit-ptry1", b'{"tasks":0}'),
        (b"target-state-ptry1", b'{"state":"PAUSED","state.v2":"STOPPED"}'),
        (b"connector-ptry1", None),
        (b"target-state-ptry1", None),
        (b"target-state-ptry1", b'{"state":"PAUSED","state.v2":"STOPPED"}'),
        CONNECTOR_RECORD,
    ]


async def test_status_records(stores: MakeStores) -> None:
    one = await stores()
    one.statuses.put_connector("ptry2", StatusRecord(State.RUNNING, None, "127.0.0.1:18083", 3, "4.3.0"))
    one.statuses.put_task(TaskId("ptry2", 0), StatusRecord(State.UNASSIGNED, None, "127.0.0.1:18083", 10, None))
    one.statuses.put_topic(TaskId("ptry2", 0), "t")
    one.statuses.remove_task(TaskId("ptry2", 1))
    await one.logs.close()
    assert sorted(await one.seen("status")) == [
        (
            b"status-connector-ptry2",
            b'{"state":"RUNNING","trace":null,"worker_id":"127.0.0.1:18083","generation":3,"version":"4.3.0"}',
        ),
        (
            b"status-task-ptry2-0",
            b'{"state":"UNASSIGNED","trace":null,"worker_id":"127.0.0.1:18083","generation":10,"version":null}',
        ),
        (b"status-task-ptry2-1", None),
        (
            b"status-topic-t:connector-ptry2",
            b'{"topic":{"name":"t","connector":"ptry2","task":0,"discoverTimestamp":1500}}',
        ),
    ]


async def test_offset_records(stores: MakeStores) -> None:
    """Recorded for a PATCH whose keys were in another order: Java's maps reorder them."""
    one = await stores()
    await one.offsets.alter(
        "par875b7c-a",
        [({"filename": "/g"}, {"position": 3, "n": None, "y": "z"}), ({"x": "ü", "n": 1, "a": None}, None)],
    )
    assert sorted(await one.seen("offsets")) == [
        ('["par875b7c-a",{"a":null,"x":"ü","n":1}]'.encode(), None),
        (b'["par875b7c-a",{"filename":"/g"}]', b'{"y":"z","position":3,"n":null}'),
    ]


@pytest.mark.slow
async def test_a_java_cluster_is_read_and_written(
    java_connect: WorkerProcess,
    broker: KafkaBroker,
    tmp_path: Path,
) -> None:
    """Our stores read connectors from Java's topics, and Java follows the records that our stores write."""
    name, file = unique("java"), tmp_path / "in.txt"
    file.write_text("one\ntwo\n")
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": broker.create_topic(), "name": name}
    assert (await _ask(java_connect, "POST", "/connectors", {"name": name, "config": config}))[0] == 201
    await _shown(java_connect, name, "RUNNING", tasks=1)
    topics = java_connect.properties
    logs = TopicLogs({"bootstrap.servers": broker.bootstrap})
    configs = ConfigStore(logs, TopicSpec(topics["config.storage.topic"], 1, 1, "config.storage", single=True))
    statuses = StatusStore(logs, TopicSpec(topics["status.storage.topic"], 5, 1, "status.storage"))
    offsets = OffsetStore(logs, TopicSpec(topics["offset.storage.topic"], 25, 1, "offset.storage"))
    await logs.start()
    stored, status = configs.connector(name), statuses.connector_status(name)
    assert stored is not None
    assert (stored.config, stored.target, len(stored.tasks)) == (config, TargetState.STARTED, 1)
    assert status is not None
    assert status.state is State.RUNNING
    assert statuses.task_statuses(name)[0].version == status.version == "4.3.0"
    await configs.put_tasks(name, [])
    await configs.put_target_state(name, TargetState.STOPPED)
    await _shown(java_connect, name, "STOPPED", tasks=0)
    await offsets.read_to_end()
    assert [(o.partition, o.offset) for o in offsets.offsets(name)] == [({"filename": str(file)}, {"position": 8})]
    await offsets.alter(name, [({"filename": str(file)}, {"position": 4})])
    shown = (await _ask(java_connect, "GET", f"/connectors/{name}/offsets"))[1]
    assert shown == {"offsets": [{"partition": {"filename": str(file)}, "offset": {"position": 4}}]}
    await configs.remove_connector(name)
    await logs.close()


@pytest.mark.slow
@pytest.mark.parametrize("mixed", [True, False])
async def test_java_reads_what_our_workers_write_and_delete(broker: KafkaBroker, tmp_path: Path, mixed: bool) -> None:
    """A connector whose config changed after its tasks, and a deleted one. Apache's worker logs an error for each
    tombstone of a task, so that a worker in a mixed group writes none."""
    process = java_worker(tmp_path, broker.bootstrap, {})
    logs = TopicLogs({"bootstrap.servers": broker.bootstrap})
    spec = TopicSpec(process.properties["config.storage.topic"], 1, 1, "config.storage", single=True)
    configs = ConfigStore(logs, spec, mixed=mixed)
    await logs.start()
    config = {**CONNECTOR, "file": str(tmp_path / "in.txt"), "topic": broker.create_topic()}
    for name in ("kept", "gone"):
        await configs.put_connector(name, {**config, "name": name})
        await configs.put_tasks(name, [{**TASK, **config, "name": name}])
    await configs.put_connector("kept", {**config, "name": "kept", "errors.tolerance": "all"}, TargetState.PAUSED)
    await configs.remove_connector("gone")
    await configs.remove_remains()
    await logs.close()
    await asyncio.to_thread(process.start)
    try:
        await _shown(process, "kept", "PAUSED", tasks=1)
        assert await _ask(process, "GET", "/connectors") == (200, ["kept"])
        again = {**config, "name": "gone"}
        assert (await _ask(process, "POST", "/connectors", {"config": again, "name": "gone"}))[0] == 201
        await _shown(process, "gone", "RUNNING", tasks=1)
        errors = [line for line in process.log.read_text().splitlines() if "ERROR" in line]
        tombstones = [line for line in errors if "gone-0 because it is unexpectedly null" in line]
        assert (len(errors), len(tombstones)) == ((0, 0) if mixed else (1, 1)), errors
    finally:
        await asyncio.to_thread(process.stop)


async def _ask(worker: WorkerProcess, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    return await asyncio.to_thread(worker.request, method, path, body)


async def _shown(worker: WorkerProcess, name: str, state: str, tasks: int) -> None:
    """Waits until Java reports this status, including tasks."""

    def reached() -> bool:
        code, status = worker.request("GET", f"/connectors/{name}/status")
        states = [t["state"] for t in status.get("tasks", ())]
        return code == 200 and status["connector"]["state"] == state and states == [state] * tasks

    await asyncio.to_thread(wait_until, reached, 30.0, f"{name} {state}")

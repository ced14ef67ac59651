"""A task whose Kafka client reaches no broker is not RUNNING, and its status tells why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runtime.embedded.processes import ports
from runtime.model.states import State
from runtime.model.task_spec import TaskSpec
from tests.support.broker import EmbeddedBroker, KafkaBroker
from tests.support.free_ports import free_port
from tests.support.tasks.pipeline import exactly_once, file_sink, file_source
from tests.support.tasks.slot_host import RunningTask
from tests.support.waiting import wait_until

KINDS = ["sink", "pattern", "source", "exactly once"]


def _spec(kind: str, servers: str, folder: Path) -> TaskSpec:
    broker, file = KafkaBroker(servers), folder / "file"
    if kind in ("sink", "pattern"):
        spec = file_sink(broker, file, "t")
        return spec if kind == "sink" else replace(spec, topics=[], topics_regex="t.*")
    file.write_bytes(b"")
    spec = file_source(broker, file, "t", offsets_topic="offsets")
    return spec if kind == "source" else exactly_once(spec)


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_without_a_broker_names_the_bootstrap_servers(kind: str, tmp_path: Path) -> None:
    servers = f"{ports.HOST}:{free_port()}"
    task = RunningTask(_spec(kind, servers, tmp_path))
    wait_until(lambda: task.host.states)
    assert task.host.states == [State.UNASSIGNED]
    client = "consumer" if kind in ("sink", "pattern") else "producer"
    assert f"No broker of bootstrap.servers={servers} responds to the {client} of the task" in task.host.trace
    assert "Connection refused" in task.host.trace
    task.stop()
    assert task.host.states == [State.UNASSIGNED]


def test_a_pause_meanwhile_is_shown_until_the_task_is_resumed(tmp_path: Path) -> None:
    task = RunningTask(_spec("sink", f"{ports.HOST}:{free_port()}", tmp_path))
    wait_until(lambda: task.host.states == [State.UNASSIGNED])
    task.runner.pause(True)
    wait_until(lambda: task.host.states == [State.UNASSIGNED, State.PAUSED])
    task.runner.pause(False)
    wait_until(lambda: task.host.states == [State.UNASSIGNED, State.PAUSED, State.UNASSIGNED])
    task.stop()


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
def test_the_task_is_running_when_a_broker_responds(kind: str, tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path / "broker")
    task = RunningTask(_spec(kind, broker.bootstrap, tmp_path))
    wait_until(lambda: task.host.states == [State.UNASSIGNED])
    broker.start()
    try:
        wait_until(lambda: task.host.states == [State.UNASSIGNED, State.RUNNING])
        task.stop()
    finally:
        broker.stop()

"""Slots in containers of a real YARN cluster: tasks move records, and move when a container is killed."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import SINK, SOURCE, STRINGS, Connect
from tests.support.engine.yarn_cluster import YarnCluster
from tests.support.waiting import wait_until
from tests.support.workers import our_worker

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]

LINES = 5_000


def test_records_move_from_a_file_to_a_file_although_containers_are_killed(
    tmp_path: Path, broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    with YarnCluster(tmp_path / "yarn").started() as cluster:
        monkeypatch.setenv("HADOOP_CONF_DIR", str(cluster.conf_folder))
        own = {"headrace.slots": "2", "exactly.once.source.support": "enabled"}
        worker = our_worker(tmp_path, broker.bootstrap, {**cluster.properties, **own})
        worker.start(120)
        try:
            _move_records(Connect(worker), cluster, tmp_path, broker)
        finally:
            worker.stop(60)


def _move_records(connect: Connect, cluster: YarnCluster, folder: Path, broker: KafkaBroker) -> None:
    topic, file, out = broker.create_topic(partitions=1), folder / "in.txt", folder / "out.txt"
    file.touch()
    source, sink = unique("source"), unique("sink")
    connect.create(source, {"connector.class": SOURCE, "file": str(file), "topic": topic, "tasks.max": "1", **STRINGS})
    connect.create(sink, {"connector.class": SINK, "file": str(out), "topics": topic, "tasks.max": "1", **STRINGS})
    expected: list[str] = []
    for victim in (source, sink, None):
        connect.wait(source, "RUNNING", ["RUNNING"], 300)
        connect.wait(sink, "RUNNING", ["RUNNING"], 300)
        lines = [f"line {number}" for number in range(len(expected), len(expected) + LINES)]
        with file.open("a") as more:
            more.writelines(f"{line}\n" for line in lines)
        expected += lines
        wait_until(partial(_has, out, {*expected}), 240, "the lines in the sink's file")
        if victim is not None:
            slot = connect.ask("GET", f"/connectors/{victim}/tasks/0/stack")["pid"]
            os.kill(cluster.executor_of(slot), signal.SIGKILL)


def _has(file: Path, lines: set[str]) -> bool:
    return file.exists() and {*file.read_text().splitlines()} == lines

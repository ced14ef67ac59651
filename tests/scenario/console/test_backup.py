"""`headrace backup` and `restore` between Apache's worker and ours: configs, states, offsets; no line twice."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import SINK, STRINGS, Connect
from tests.support.console.script_console import Console
from tests.support.waiting import wait_until
from tests.support.workers import WorkerProcess, java_worker, our_worker


class Cluster:
    """A worker with a console for it."""

    def __init__(self, worker: WorkerProcess, folder: Path) -> None:
        self.connect, self.worker = Connect(worker), worker
        self.console = Console(worker.url, folder)
        self.console.environ["XDG_STATE_HOME"] = str(folder / "state")

    def run(self, *words: str, code: int = 0) -> str:
        """`headrace WORDS` with the URL of the worker."""
        command = [sys.executable, "-m", "tui.main", words[0], self.worker.url, *words[1:]]
        done = subprocess.run(
            command, env=self.console.environ, capture_output=True, text=True, timeout=120, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == code, done
        return done.stdout + done.stderr

    def summary(self, names: list[str]) -> dict[str, Any]:
        return {name: (self.connect.states(name)[0], by_partition(self.connect.offsets(name))) for name in names}


def by_partition(offsets: list[dict[str, Any]]) -> dict[str, Any]:
    return {json.dumps(one["partition"], sort_keys=True): one["offset"] for one in offsets}


def append(path: Path, first: int, last: int) -> None:
    with path.open("a") as file:
        file.writelines(f"line {number}\n" for number in range(first, last))


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def clusters(broker: KafkaBroker, tmp_path: Path) -> Iterator[tuple[Cluster, Cluster]]:
    """Apache's worker and ours on the same broker, started at the same time."""
    workers = java_worker(tmp_path, broker.bootstrap, {}), our_worker(tmp_path, broker.bootstrap, {})
    for worker in workers:
        worker.start(wait=False)
    try:
        for worker in workers:
            worker.wait_healthy(120)
        yield Cluster(workers[0], tmp_path / "java"), Cluster(workers[1], tmp_path / "ours")
    finally:
        for worker in workers:
            worker.stop()


def test_a_cluster_moves_from_java_to_ours_and_back(
    clusters: tuple[Cluster, Cluster], broker: KafkaBroker, tmp_path: Path
) -> None:
    source, sink, idle = unique("source"), unique("sink"), unique("idle")
    names, topic = [source, sink, idle], broker.create_topic(partitions=2)
    read, written = tmp_path / "in", tmp_path / "out"
    backup, back = str(tmp_path / "backup.json"), str(tmp_path / "back.json")

    java, ours = clusters
    append(read, 0, 100)
    java.connect.source(source, str(read), topic)
    java.connect.sink(sink, str(written), topic)
    java.connect.create(
        idle, {"connector.class": SINK, "topics": topic, "file": "/dev/null", **STRINGS}, initial_state="PAUSED"
    )
    wait_until(lambda: len(lines(written)) == 100, 60)
    for name in (source, sink):
        java.connect.stop(name)

    java.run("backup", backup)
    plan = ours.run("restore", backup, "--dry-run", code=8)
    assert "plan: 3 to create, 0 to overwrite, 0 skipped, 0 unchanged" in plan
    assert ours.connect.ask("GET", "/connectors") == []
    ours.run("restore", backup, "--yes")
    assert ours.summary([source, sink]) == java.summary([source, sink])
    ours.connect.wait(idle, "PAUSED")

    append(read, 100, 200)
    for name in (source, sink):
        ours.connect.resume(name)
    wait_until(lambda: len(lines(written)) >= 200, 60)
    for name in (source, sink):
        ours.connect.stop(name)
    ours.run("backup", back)
    assert "skipped; --overwrite replaces it" in java.run("restore", back)
    java.run("restore", back, "--overwrite", "--yes")
    assert java.summary(names) == ours.summary(names)

    append(read, 200, 300)
    for name in (source, sink):
        java.connect.resume(name)
    wait_until(lambda: len(lines(written)) >= 300, 60)
    assert sorted(lines(written)) == sorted(f"line {number}" for number in range(300))

"""Spark's connectors and Java connectors with slots on the executors of a real standalone cluster."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.support.broker import EmbeddedBroker, unique
from tests.support.connect import JSON_VALUES, SINK, SOURCE, STRING, STRINGS, Connect
from tests.support.engine.spark_cluster import SparkCluster
from tests.support.java.connectors import FILE, PREFER_FILE, plugin_path
from tests.support.processes import children
from tests.support.tasks.pipeline import records
from tests.support.waiting import wait_until
from tests.support.workers import our_worker

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]

ROWS = 20_000
JSON = {
    "key.converter": STRING,
    **JSON_VALUES,
}


class Site:
    """A worker with two slots on a cluster, which has two more cores for Spark's own jobs."""

    def __init__(self, folder: Path, broker: EmbeddedBroker, cluster: SparkCluster) -> None:
        self.folder, self.broker, self.cluster = folder, broker, cluster
        own = {"headrace.slots": "2", "exactly.once.source.support": "enabled", "plugin.path": plugin_path(FILE)}
        self.worker = our_worker(folder, broker.bootstrap, {**cluster.properties, **own, **PREFER_FILE})
        self.connect = Connect(self.worker)

    def create(self, **config: str) -> str:
        """Creates a connector with one task, and waits until it is RUNNING."""
        name = unique("connector")
        self.connect.create(name, {"tasks.max": "1", **config})
        self.connect.wait(name, "RUNNING", ["RUNNING"], 240)
        return name

    def kill_executor(self, name: str) -> None:
        """Kills the executor on which the task of a connector runs."""
        slot = self.connect.ask("GET", f"/connectors/{name}/tasks/0/stack")["pid"]
        os.kill(self.cluster.executor_of(slot), signal.SIGKILL)

    def java_below_slots(self) -> dict[int, list[str]]:
        """The open jars of the JVMs that slots have started, by process."""
        jvms = [pid for slot in self.cluster.slots() for pid in children(slot)]
        return {pid: [name for name in _open_files(pid) if name.endswith(".jar")] for pid in jvms}


def _open_files(pid: int) -> list[str]:
    return [str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir()]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("cluster")
    with EmbeddedBroker(folder / "broker").started() as broker, SparkCluster(folder / "spark").started() as cluster:
        site = Site(folder, broker, cluster)
        site.worker.start(120)
        try:
            yield site
        finally:
            site.worker.stop(60)


def test_java_connectors_run_on_executors_from_the_archive_of_their_plugin(site: Site) -> None:
    topic = site.broker.create_topic(partitions=1)
    file, out = site.folder / "in.txt", site.folder / "out.txt"
    lines = [f"line {number}" for number in range(ROWS)]
    file.write_text("".join(f"{line}\n" for line in lines))
    source = site.create(**{"connector.class": SOURCE, "file": str(file), "topic": topic, **STRINGS})
    sink = site.create(**{"connector.class": SINK, "file": str(out), "topics": topic, **STRINGS})

    def written() -> list[str]:
        return out.read_text().splitlines() if out.exists() else []

    wait_until(lambda: len(written()) >= ROWS, 120, "all lines in the sink's file")
    assert written() == lines
    jars = site.java_below_slots()
    assert jars
    assert all(
        any("/headrace/archives/" in name and "connect-file" in name for name in found) for found in jars.values()
    )
    site.kill_executor(sink)
    with file.open("a") as more:
        more.write("the last line\n")
    wait_until(lambda: written()[-1] == "the last line", 240, "the line after the loss of the executor")
    assert set(written()) == {*lines, "the last line"}
    for name in (source, sink):
        site.connect.ask("DELETE", f"/connectors/{name}")


def test_rows_go_from_spark_source_to_spark_sink_exactly_once(site: Site) -> None:
    topic, folder, table = site.broker.create_topic(partitions=1), site.folder / "rows", site.folder / "table"
    folder.mkdir()
    _add_rows(folder, 0)
    source = site.create(
        **{
            "connector.class": "SparkSource", "topic": topic, "spark.checkpoint": str(site.folder / "checkpoints"),
            "spark.trigger": "200 ms", "spark.path": str(folder), "spark.format": "json",
            "spark.schema": "id BIGINT, name STRING", "exactly.once.support": "required", **JSON,
        }
    )  # fmt: skip
    sink = site.create(
        **{
            "connector.class": "SparkSink", "topics": topic, "spark.path": str(table), "spark.trigger": "500 ms",
            "consumer.override.isolation.level": "read_committed", **JSON,
        }
    )  # fmt: skip
    for batch, name in enumerate((source, sink)):
        wait_until(partial(_has, table, (batch + 1) * ROWS), 240, f"the rows of batch {batch}")
        _add_rows(folder, batch + 1)
        site.kill_executor(name)
    wait_until(partial(_has, table, 3 * ROWS), 300, "the rows after the loss of both executors")
    assert sorted(_ids(table)) == list(range(3 * ROWS))
    sent = [json.loads(value)["id"] for _, value in records(site.broker, topic) if value is not None]
    assert sorted(sent) == list(range(3 * ROWS))


def _add_rows(folder: Path, batch: int) -> None:
    hidden = folder / f".{batch}.json"
    numbers = range(batch * ROWS, (batch + 1) * ROWS)
    hidden.write_text("".join(f'{{"id":{number},"name":"n{number % 3}"}}\n' for number in numbers))
    hidden.rename(folder / f"{batch}.json")


def _ids(table: Path) -> list[int]:
    return [number for file in table.glob("*.parquet") for number in parquet.read_table(file)["id"].to_pylist()]


def _has(table: Path, count: int) -> bool:
    return table.exists() and len(_ids(table)) >= count

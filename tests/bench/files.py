"""The row about the files sink: JSON records of a topic as Parquet files. Apache Kafka has no such connector."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path

from tests.bench.sides import Bench, Refused, create
from tests.bench.throughput import filled
from tests.support.broker import unique
from tests.support.connect import JSON_VALUES, STRING, Connect
from tests.support.waiting import wait_until

RECORDS = int(os.environ.get("BENCH_FILES_RECORDS", "1000000"))
_FILES = 10
_ONE_TASK = {"tasks.max": "1", "key.converter": STRING, **JSON_VALUES}
_CONFIG = {"connector.class": "FilesSink", "flush.size": str(RECORDS // _FILES), **_ONE_TASK}
_SPARK = {
    "connector.class": "SparkSink", "spark.batch.records": str(RECORDS // 5), "spark.trigger": "500 ms", **_ONE_TASK,
}  # fmt: skip


def sink_parquet(bench: Bench, connect: Connect) -> dict[str, float]:
    """Records a second between the first complete file and the last; the files are read back and counted."""
    if not _is_ours(connect):
        raise Refused("Apache Kafka has no connector for Parquet files")
    topic = filled(bench, "json", _order, records=RECORDS)
    name, folder = unique("files"), bench.folder / unique("parquet")
    create(connect, name, {**_CONFIG, "topics": topic, "url": str(folder)})
    wait_until(lambda: _count(folder) >= 1, 60, every=0.002)
    started, first = time.monotonic(), _count(folder)
    wait_until(lambda: _count(folder) >= _FILES, 180, every=0.002)
    seconds = time.monotonic() - started
    connect.ask("DELETE", f"/connectors/{name}")
    _check(folder)
    return {"sink-parquet": RECORDS * (_FILES - first) / _FILES / seconds}


def sink_spark(bench: Bench, connect: Connect) -> dict[str, float]:
    """As sink_parquet(), written by Spark. The first batch of another connector warms the session."""
    if not _is_ours(connect):
        raise Refused("Apache Kafka has no connector for Spark")
    topic = filled(bench, "json", _order, records=RECORDS)
    rate = 0.0
    for _ in range(2):
        name, folder = unique("spark"), bench.folder / unique("table")
        config = {**_SPARK, "topics": topic, "spark.path": str(folder)}
        create(connect, name, config)
        wait_until(partial(_rows, folder), 120, every=0.002)
        started, first = time.monotonic(), _rows(folder)
        wait_until(partial(_has_all, folder), 180, every=0.01)
        rate = (RECORDS - first) / (time.monotonic() - started)
        connect.ask("DELETE", f"/connectors/{name}")
        _check(folder)
    return {"sink-spark": rate}


def _rows(folder: Path) -> int:
    from pyarrow import parquet

    return sum(parquet.read_metadata(file).num_rows for file in folder.glob("*.parquet"))


def _has_all(folder: Path) -> bool:
    return _rows(folder) == RECORDS


def _is_ours(connect: Connect) -> bool:
    plugins = connect.ask("GET", "/connector-plugins")
    return any(plugin["class"] == "headrace.FilesSinkConnector" for plugin in plugins)


def _count(folder: Path) -> int:
    return sum(1 for _ in folder.rglob("*.parquet"))


def _check(folder: Path) -> None:
    import pyarrow.compute as pc
    from pyarrow import parquet

    found = parquet.read_table(folder, columns=["id"])["id"]
    assert len(found) == RECORDS and pc.count_distinct(found).as_py() == RECORDS


def _order(number: int) -> str:
    return (
        f'{{"id":{number},"customer":"customer {number % 1000}","price":{number % 997 * 0.25},'
        f'"paid":{"true" if number % 2 else "false"},"created":{1_700_000_000_000 + number}}}'
    )

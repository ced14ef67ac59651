"""FilesSink in a worker: each record is in exactly one file, also after slot and worker are killed."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, STRING, Connect
from tests.support.processes import children, is_slot
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

POLLS = {"consumer.override.max.poll.records": "500"}
SQL = {
    "transforms": "q",
    "transforms.q.type": "headrace.SparkSql",
    "transforms.q.sql": "SELECT id, shop FROM records LATERAL VIEW explode(array_repeat(0, INT(id % 3))) e AS n",
}


@pytest.mark.parametrize(
    ("count", "more", "results"),
    [
        (60_000, POLLS, lambda n: 1),
        pytest.param(1_000_000, POLLS, lambda n: 1, marks=pytest.mark.soak),
        pytest.param(1_000_000, SQL, lambda n: n % 3, marks=pytest.mark.soak),
    ],
    ids=["few", "many", "sql"],
)
def test_each_record_is_in_one_file_after_kills(
    count: int,
    more: dict[str, str],
    results: Callable[[int], int],
    worker: StartWorker,
    broker: KafkaBroker,
    tmp_path: Path,
) -> None:
    """Files are closed by records and by the clock; folders by a field. `results`: how often each number is written."""
    topic, folder = broker.create_topic(partitions=2), tmp_path / "files"
    _fill(broker, topic, count)
    process = worker()
    connect, name = Connect(process), unique("files")
    connect.create(
        name,
        {
            "connector.class": "FilesSink",
            "tasks.max": "1",
            "topics": topic,
            "url": str(folder),
            "flush.size": str(count // 20),
            "rotate.schedule.interval.ms": "500",
            "partition.field.name": "shop",
            "key.converter": STRING,
            **JSON_VALUES,
            **more,
        },
    )
    wait_until(lambda: _files(folder) > 0, 60, "the first file", every=0.002)
    os.kill(next(pid for pid in children(process.pid) if is_slot(pid)), signal.SIGKILL)
    before = _files(folder)
    wait_until(lambda: _files(folder) > before or _rows(folder) == count, 60, "files after the first kill", every=0.002)
    process.kill()
    process.start()
    wait_until(lambda: connect.committed(name) == count, 120, "all offsets committed", every=0.2)
    connect.ask("DELETE", f"/connectors/{name}")
    numbers = Counter(_numbers(folder))
    assert numbers == +Counter({number: results(number) for number in range(count)})


def _fill(broker: KafkaBroker, topic: str, count: int) -> None:
    with broker.writing() as write:
        for number in range(count):
            text = f'{{"id":{number},"shop":"shop {number % 3}","price":{number % 97 * 0.5}}}'
            write(topic, text, partition=number % 2)


def _files(folder: Path) -> int:
    return sum(1 for _ in folder.rglob("*.parquet"))


def _rows(folder: Path) -> int:
    from pyarrow import parquet

    return sum(parquet.read_metadata(file).num_rows for file in folder.rglob("*.parquet"))


def _numbers(folder: Path) -> list[int]:
    from pyarrow import parquet

    return [
        number
        for file in folder.rglob("*.parquet")
        for number in parquet.ParquetFile(file).read(["id"])["id"].to_pylist()
    ]

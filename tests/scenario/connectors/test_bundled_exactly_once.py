"""The bundled sources with exactly-once support in a worker, while slots and the worker are killed."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import orjson
import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, Connect
from tests.support.kafka.committed import committed
from tests.support.kafka.topic_ends import TopicEnds
from tests.support.processes import children, is_slot
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

_JSON = {
    **JSON_VALUES,
    "exactly.once.support": "required",
}
_NUMBERS = "tests.support.data_sources.Numbers"
_FILES = 5


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("count", [3_000, pytest.param(40_000, marks=pytest.mark.soak)])
def test_each_record_arrives_once_after_kills_and_altered_offsets_apply(
    count: int, worker: StartWorker, broker: KafkaBroker, tmp_path: Path
) -> None:
    process = worker({"exactly.once.source.support": "enabled", "headrace.slots": "2"})
    connect = Connect(process)
    prefix = unique("once-")
    configs = _configs(count, tmp_path, prefix)
    topics = {name: broker.create_topic(f"{prefix}{name}") for name in configs}

    def arrived() -> dict[str, int]:
        return {name: len(committed(broker, topic)) for name, topic in topics.items()}

    for name, config in configs.items():
        connect.create(name, _JSON | config)

    ends = {name: TopicEnds(broker.bootstrap, topic) for name, topic in topics.items()}

    def committed_ends() -> dict[str, int]:
        return {name: found.committed() for name, found in ends.items()}

    wait_until(lambda: min(committed_ends().values()) > 0, 60, "records of each source", every=0.02)
    for slot in [pid for pid in children(process.pid) if is_slot(pid)]:
        os.kill(slot, signal.SIGKILL)
    first = committed_ends()
    wait_until(
        lambda: all(end > min(first[name], count) for name, end in committed_ends().items()),
        60, "more of each source, or all", every=0.02,
    )  # fmt: skip
    process.kill()
    print(f"\nends of the topics at the kills: {first}, {committed_ends()}, of {count} records")
    process.start()
    wait_until(lambda: min(committed_ends().values()) > count, 300, "the ends of the topics", every=0.2)
    wait_until(lambda: min(arrived().values()) >= count, 300, "all records", every=1.0)
    for name, topic in topics.items():
        numbers = Counter(_numbers(broker, topic))
        assert sorted(numbers) == list(range(count)), name
        assert set(numbers.values()) == {1}, name

    partitions = [offset["partition"] for offset in connect.offsets("data-source")]
    assert {"data.source": _NUMBERS} in partitions and {"data.source": _NUMBERS, "task": 1} in partitions
    connect.stop("data-source")
    connect.alter("data-source", ({"data.source": _NUMBERS}, {"offset": f'{{"n":{count - 100}}}'}))
    connect.resume("data-source", tasks=2)
    wait_until(
        lambda: len(committed(broker, topics["data-source"])) >= count + 100, 60, "the last numbers again", every=0.2
    )
    again = Counter(_numbers(broker, topics["data-source"]))
    assert [n for n, times in sorted(again.items()) if times == 2] == list(range(count - 100, count))
    for name in configs:
        connect.ask("DELETE", f"/connectors/{name}")


def _configs(count: int, folder: Path, prefix: str) -> dict[str, dict[str, str]]:
    """Each source delivers the numbers from 0 on in its field `n`, in small batches."""
    _fill_table(folder / "rows.db", count)
    _fill_files(folder / "files", count)
    return {
        "datagen": {
            "connector.class": "Datagen", "topic": f"{prefix}datagen", "fields": '{"n": "sequence"}',
            "count": str(count), "rate": str(count // 4), "batch.size": "50",
        },
        "jdbc": {
            "connector.class": "JdbcSource", "mode": "incrementing", "incrementing.column.name": "n",
            "table.whitelist": "jdbc", "topic.prefix": prefix, "batch.max.rows": "10", "poll.interval.ms": "100",
            "connection.url": f"jdbc:sqlite:{folder}/rows.db",
        },
        "files": {
            "connector.class": "FilesSource", "topic": f"{prefix}files", "url": str(folder / "files"),
            "batch.size": "10", "poll.interval.ms": "100",
        },
        "data-source": {
            "connector.class": "DataSource", "tasks.max": "2", "topic": f"{prefix}data-source", "data.source": _NUMBERS,
            "data.source.option.total": str(count), "data.source.option.step": str(count // 10),
            "data.source.option.partitions": "4", "data.source.option.delay": "0.1",
            "data.source.poll.interval.ms": "100", "data.source.batch.size": "20",
        },
    }  # fmt: skip


def _fill_table(file: Path, count: int) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE jdbc (n INTEGER PRIMARY KEY)")
        connection.executemany("INSERT INTO jdbc VALUES (?)", ((n,) for n in range(count)))


def _fill_files(folder: Path, count: int) -> None:
    folder.mkdir()
    for file in range(_FILES):
        lines = (json.dumps({"n": n}) for n in range(count * file // _FILES, count * (file + 1) // _FILES))
        (folder / f"{file}.json").write_text("\n".join([*lines, ""]))


def _numbers(broker: KafkaBroker, topic: str) -> Iterable[int]:
    return (orjson.loads(message.value())["n"] for message in committed(broker, topic))

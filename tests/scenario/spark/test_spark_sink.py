"""SparkSink in a worker: each record is in the files once, also after kills and after offsets are altered."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections import Counter
from contextlib import closing
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import orc, parquet

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, STRING, Connect, dead_letters
from tests.support.tasks.pipeline import records
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker, WorkerProcess

SQLITE = "org.xerial:sqlite-jdbc:3.50.3.0"
JDBC = {"spark.format": "jdbc", "spark.path": ""}
OTHER_FORMATS = {
    "avro": {"spark.option.compression": "deflate"},
    "csv": {"spark.option.header": "true"},
    "text": {"spark.sql": "SELECT name AS value FROM record"},
    "xml": {"spark.option.rowTag": "order", "spark.option.declaration": "", "spark.sql": "SELECT id FROM record"},
}
CONTENTS = {
    "avro": [{"id": 1, "name": "a"}, {"id": 3, "name": "c"}, {"id": 4, "name": "d"}],
    "csv": "id,name1,a3,c4,d",
    "text": "acd",
    "xml": "<ROWS><order><id>1</id></order><order><id>3</id></order><order><id>4</id></order></ROWS>",
}


def _config(topic: str, folder: Path, **more: str) -> dict[str, str]:
    return {
        "connector.class": "SparkSink",
        "tasks.max": "1",
        "topics": topic,
        "spark.path": str(folder),
        "spark.trigger": "200 ms",
        "key.converter": STRING,
        **JSON_VALUES,
        **more,
    }


@pytest.fixture(scope="module")
def process(module_worker: StartWorker) -> WorkerProcess:
    return module_worker({"spark.packages": SQLITE})


@pytest.mark.parametrize("count", [40_000, pytest.param(1_000_000, marks=pytest.mark.soak)])
def test_each_record_is_written_once_after_kills_and_a_set_back(
    count: int, process: WorkerProcess, broker: KafkaBroker, tmp_path: Path
) -> None:
    topic, folder = broker.create_topic(partitions=2), tmp_path / "table"
    _fill(broker, topic, 0, count)
    connect, name = Connect(process), unique("spark")
    connect.create(
        name,
        _config(
            topic,
            folder,
            **{
                "spark.batch.records": str(count // 10),
                "spark.partition.by": "shop",
                "consumer.override.max.poll.records": "500",
            },
        ),
    )
    for _ in range(2):  # in the middle of a batch
        known = _staged(folder)
        wait_until(partial(_has_new, folder, known), 60, "a batch that is being written", every=0.002)
        os.kill(connect.ask("GET", f"/connectors/{name}/tasks/0/stack")["pid"], signal.SIGKILL)
    published = _files(folder)
    wait_until(lambda: _files(folder) > published or _rows(folder) == count, 60, "files after the kills", every=0.002)
    if count > 100_000:
        process.kill()
        process.start()
    wait_until(lambda: connect.committed(name) == count, 120, "all offsets committed", every=0.1)
    wait_until(lambda: not _staged(folder), 30, "all files published")
    assert Counter(_numbers(folder)) == Counter(range(count))

    connect.stop(name)
    back = count // 2 - 100
    connect.alter(name, ({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": back}))
    connect.resume(name)
    wait_until(lambda: _rows(folder) == count + 100, 60, "the records that are written again", every=0.1)
    wait_until(lambda: not _staged(folder), 30, "all files published")
    again = Counter(range(back * 2, count, 2))
    assert Counter(_numbers(folder)) == Counter(range(count)) + again
    connect.ask("DELETE", f"/connectors/{name}")


def test_formats_sql_columns_and_dead_letters(process: WorkerProcess, broker: KafkaBroker, tmp_path: Path) -> None:
    connect = Connect(process)
    good, later = broker.create_topic(), broker.create_topic()
    letters = broker.create_topic()
    _send(broker, good, {"id": 1, "name": "a"}, {"id": "x"}, {"id": 3, "name": "c"}, {"id": 4, "name": "d"})
    names = unique("json"), unique("orc"), unique("columns")
    sql = "SELECT id * 2 AS double, upper(name) AS name, CAST(nullif(name, 'c') AS INT) AS n FROM record WHERE id > 1"
    tolerant = {"spark.schema": "id BIGINT, name STRING", **dead_letters(letters)}
    folders = [tmp_path / name for name in names]
    connect.create(names[0], _config(good, folders[0], **{**tolerant, "spark.format": "json", "spark.sql": sql}))
    connect.create(names[1], _config(good, folders[1], **{"spark.format": "orc", "spark.schema": "id STRING"}))
    insert = {"transforms": "at", "transforms.at.type": "org.apache.kafka.connect.transforms.InsertField$Value"}
    connect.create(names[2], _config(later, folders[2], **insert, **{"transforms.at.offset.field": "at"}))

    wait_until(lambda: list(folders[0].glob("*.json")), 150, "the JSON file")
    assert [json.loads(line) for file in folders[0].glob("*.json") for line in file.read_text().splitlines()] == [
        {"double": 6, "name": "C"}
    ]
    wait_until(lambda: len(_values(broker, letters)) == 2, 60, "the dead letters")
    assert _values(broker, letters) == [b'{"id":"x"}', b'{"id":4,"name":"d"}']  # columns, query
    wait_until(lambda: list(folders[1].glob("*.orc")), 60, "the ORC file")
    assert [i for f in folders[1].glob("*.orc") for i in orc.read_table(f)["id"].to_pylist()] == ["1", "x", "3", "4"]

    _send(broker, later, {"id": 1})
    wait_until(lambda: _rows(folders[2]) == 1, 60, "the first row")
    connect.stop(names[2])  # the next task reads the columns of the files
    _send(broker, later, {"id": "2", "name": "b"})
    connect.resume(names[2])
    wait_until(lambda: _rows(folders[2]) == 2, 60, "the second row")
    rows = [row for file in _published(folders[2]) for row in parquet.read_table(file).to_pylist()]
    assert sorted(rows, key=itemgetter("id")) == [{"id": 1, "at": 0}, {"id": 2, "at": 1, "name": "b"}]

    database = tmp_path / "shop.db"
    with closing(sqlite3.connect(database)) as connection:  # Spark creates tables only in databases that it knows
        connection.execute("CREATE TABLE orders (id INTEGER, name TEXT)")
    jdbc = {"url": f"jdbc:sqlite:{database}", "dbtable": "orders", "driver": "org.sqlite.JDBC"}
    options = {f"spark.option.{key}": value for key, value in jdbc.items()}
    others = {kind: tmp_path / kind for kind in OTHER_FORMATS}
    for kind, keys in OTHER_FORMATS.items():
        connect.create(unique(kind), _config(good, others[kind], **{**tolerant, **keys, "spark.format": kind}))
    connect.create(unique("jdbc"), _config(good, Path(), **{**tolerant, **options, **JDBC}))
    wait_until(lambda: _table(database), 60, "the rows of the table")
    assert _table(database) == [(1, "a"), (3, "c"), (4, "d")]
    for kind, folder in others.items():
        wait_until(partial(_named, folder, kind), 60, f"the {kind} file")
        assert _contents(kind, _named(folder, kind)[0]) == CONTENTS[kind]

    _check_batches_of_killed_tasks(connect, broker, tmp_path / "killed")

    broken = unique("broken")
    connect.create(broken, _config(good, tmp_path / "x", **{**tolerant, "spark.sql": "SELECT nothing FROM record"}))
    connect.wait(broken, "RUNNING", ["FAILED"], 60)
    trace = connect.ask("GET", f"/connectors/{broken}/status")["tasks"][0]["trace"]
    assert "Spark could not write a batch of 3 records" in trace and "nothing" in trace


def _check_batches_of_killed_tasks(connect: Connect, broker: KafkaBroker, folder: Path) -> None:
    """One task was killed after the commit of its batch, another before: the first batch is published."""
    from confluent_kafka import Consumer, TopicPartition

    name, topic = unique("killed"), broker.create_topic()
    _send(broker, topic, *({"id": number} for number in range(4)))
    for batch, start in (("0-committed", 0), ("0-dropped", 2)):
        place = folder / ".headrace" / name / batch
        (place / "data" / "shop=a").mkdir(parents=True)
        rows = pa.table({"id": [start, start + 1]})
        parquet.write_table(rows, place / "data" / "shop=a" / f"{batch}.parquet")
        (place / "batch.json").write_text(json.dumps({topic: {"0": [start, start + 2]}}))
    (folder / ".headrace" / name / "0-incomplete" / "data").mkdir(parents=True)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": f"connect-{name}"})
    consumer.commit(offsets=[TopicPartition(topic, 0, 2, "0-committed")], asynchronous=False)
    consumer.close()

    connect.create(name, _config(topic, folder))
    wait_until(lambda: _rows(folder) == 4, 60, "the committed batch, and the others again")
    assert (folder / "shop=a" / "0-committed.parquet").exists()
    assert sorted(_numbers(folder)) == [0, 1, 2, 3]
    wait_until(lambda: not _staged(folder), 30, "no staged batches")


def _named(folder: Path, kind: str) -> list[Path]:
    return list(folder.glob(f"*.{'txt' if kind == 'text' else kind}"))


def _contents(kind: str, file: Path) -> Any:
    if kind != "avro":
        return "".join(file.read_text().split())
    with file.open("rb") as stream:
        return list(fastavro.reader(stream))


def _table(database: Path) -> list[tuple[int, str]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute("SELECT id, name FROM orders ORDER BY id").fetchall()


def _send(broker: KafkaBroker, topic: str, *values: object) -> None:
    broker.produce(topic, *(json.dumps(value, separators=(",", ":")) for value in values))


def _values(broker: KafkaBroker, topic: str) -> list[bytes | None]:
    return [value for _, value in records(broker, topic)]


def _fill(broker: KafkaBroker, topic: str, start: int, end: int) -> None:
    with broker.writing() as write:
        for number in range(start, end):
            text = f'{{"id":{number},"shop":"shop {number % 3}","price":{number % 97 * 0.5}}}'
            write(topic, text, partition=number % 2)


def _published(folder: Path) -> list[Path]:
    """Files as readers see them; staging folders vanish while they are listed."""
    found: list[Path] = []
    for place, folders, names in os.walk(folder):
        folders[:] = [one for one in folders if not one.startswith(".")]
        found += [Path(place, one) for one in names if one.endswith(".parquet")]
    return found


def _staged(folder: Path) -> set[Path]:
    return {batch for connector in _entries(folder / ".headrace") for batch in _entries(connector)}


def _has_new(folder: Path, known: set[Path]) -> bool:
    return bool(_staged(folder) - known)


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []


def _files(folder: Path) -> int:
    return len(_published(folder))


def _rows(folder: Path) -> int:
    return sum(parquet.read_metadata(file).num_rows for file in _published(folder))


def _numbers(folder: Path) -> list[int]:
    return [
        number for file in _published(folder) for number in parquet.ParquetFile(file).read(["id"])["id"].to_pylist()
    ]

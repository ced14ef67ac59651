"""SparkSource in a worker: each row is in the topic once, also after kills, and altered offsets skip nothing."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, STRING, Connect
from tests.support.engine.engine_recorder import living_driver
from tests.support.tasks.pipeline import records
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker, WorkerProcess


def _config(topic: str, folder: Path, **more: str) -> dict[str, str]:
    return {
        "connector.class": "SparkSource",
        "topic": topic,
        "spark.checkpoint": str(folder / "checkpoints"),
        "spark.trigger": "100 ms",
        "key.converter": STRING,
        **JSON_VALUES,
        **more,
    }


def _write_file(folder: Path, start: int, end: int) -> None:
    """A file with these numbers appears in the folder as a whole."""
    folder.mkdir(exist_ok=True)
    hidden = folder / f".{start}.json"
    hidden.write_text("".join(f'{{"id":{number},"name":"n{number % 3}"}}\n' for number in range(start, end)))
    hidden.rename(folder / f"{start:09}.json")


def _ids(broker: KafkaBroker, topic: str) -> list[int]:
    return [json.loads(value)["id"] for _, value in records(broker, topic) if value is not None]


pytestmark = [pytest.mark.timeout(1200), pytest.mark.slow]


@pytest.fixture(scope="module")
def process(module_worker: StartWorker, tmp_path_factory: pytest.TempPathFactory) -> WorkerProcess:
    """A worker with exactly-once support, whose Spark knows the folder of all tests as viewfs://tests/all."""
    properties = {
        "exactly.once.source.support": "enabled",
        "spark.hadoop.fs.viewfs.mounttable.tests.link./all": f"file://{tmp_path_factory.getbasetemp()}",
    }
    return module_worker(properties)


@pytest.mark.parametrize(
    ("size", "kills"),
    [(4_000, ["slot"]), pytest.param(50_000, ["slot", "worker", "driver"] * 2, marks=pytest.mark.soak)],
)
def test_each_row_is_sent_once_after_kills_and_again_after_a_set_back(
    size: int, kills: list[str], process: WorkerProcess, broker: KafkaBroker, tmp_path: Path
) -> None:
    topic, source = broker.create_topic(partitions=1), tmp_path / "in"
    last = len(kills) + 2
    for number in range(last + 1):
        _write_file(source, number * size, (number + 1) * size)
    connect, name = Connect(process), unique("source")
    config = _config(
        topic, tmp_path, **{
            "spark.path": str(source), "spark.format": "json", "spark.schema": "id BIGINT, name STRING",
            "spark.option.maxFilesPerTrigger": "1", "spark.key": "name", "batch.size": "500",
        },
    )  # fmt: skip
    connect.create(name, config)
    for batch, victim in enumerate(kills):
        wait_until(partial(_has_sent, connect, name, batch), 600, f"batch {batch}", every=0.01)
        time.sleep(batch % 3 * 0.2)  # another step of the next batch
        if victim == "worker":
            process.kill()
            process.start()
        else:
            os.kill(connect.slot_of(name) if victim == "slot" else living_driver(process.pid), signal.SIGKILL)
    wait_until(lambda: _is_done(connect, name, last), 600, "all batches committed")
    everything = list(range((last + 1) * size))
    assert _ids(broker, topic) == everything
    keys = Counter(key for key, _ in records(broker, topic))
    assert keys == Counter(b"n%d" % (number % 3) for number in everything)

    connect.stop(name)
    offset = connect.offset(name)
    connect.alter(name, ({"spark.source": f"json {source}"}, {**offset, "batch": last - 2}))
    _write_file(source, len(everything), len(everything) + 100)
    connect.resume(name)
    again = [*everything, *range((last - 1) * size, len(everything) + 100)]
    wait_until(lambda: len(_ids(broker, topic)) >= len(again), 600, "the rows that are read again and the new ones")
    assert _ids(broker, topic) == again
    wait_until(lambda: not _spooled(tmp_path), 600, "no spooled batches")
    connect.ask("DELETE", f"/connectors/{name}")


def _has_sent(connect: Connect, name: str, batch: int) -> bool:
    return bool(connect.offset(name).get("batch", -1) >= batch)


def _is_done(connect: Connect, name: str, batch: int) -> bool:
    offset = connect.offset(name)
    return offset.get("batch") == batch and "rows" not in offset


def _spooled(folder: Path) -> list[Path]:
    return [path for path in folder.glob("checkpoints/*/*/spool/*") if path.name.isdigit()]


QUERY = """
    SELECT id, CAST(id AS DECIMAL(10, 2)) AS price, TIMESTAMP '2026-01-02 03:04:05.678' AS at,
        TIMESTAMP_NTZ '2026-01-02 03:04:05' AS local, DATE '2026-01-02' AS day, array(1, NULL) AS list,
        map('a', 1.5D) AS map, named_struct('x', 1S, 'y', NULL::STRING) AS struct, X'FF' AS raw
    FROM record ORDER BY id
"""
ROW = {
    "price": "ZA==", "at": 1767323045678, "local": 1767323045000, "day": 20455, "list": [1, None], "map": {"a": 1.5},
    "struct": {"x": 1, "y": None}, "raw": "/w==",
}  # fmt: skip
TYPES = {
    "id": "int64", "price": "org.apache.kafka.connect.data.Decimal", "at": "org.apache.kafka.connect.data.Timestamp",
    "local": "org.apache.kafka.connect.data.Timestamp", "day": "org.apache.kafka.connect.data.Date", "list": "array",
    "map": "map", "struct": "struct", "raw": "bytes",
}  # fmt: skip


def test_tables_queries_types_and_errors(
    process: WorkerProcess, broker: KafkaBroker, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    connect, here = Connect(process), tmp_path.relative_to(tmp_path_factory.getbasetemp())
    source = tmp_path / "typed"
    source.mkdir()
    parquet.write_table(pa.table({"id": [1, 2]}), source / "a.parquet")
    once, again, broken = unique("once"), unique("again"), unique("broken")
    first, second = broker.create_topic(), broker.create_topic()
    typed = {"spark.path": str(source), "spark.mode": "once", "value.converter.schemas.enable": "true"}
    remote = {
        "spark.checkpoint": f"viewfs://tests/all/{here}/checkpoints"
    }  # another file system than that of the machine
    connect.create(once, _config(first, tmp_path, **typed, **remote, **{"spark.sql": QUERY, "spark.key": "id,price"}))
    connect.create(again, _config(second, tmp_path, **{"spark.sql": "SELECT 7 AS id", "spark.mode": "interval"}))
    connect.create(broken, _config(second, tmp_path, **typed, **{"spark.sql": "SELECT nothing FROM record"}))

    wait_until(lambda: connect.offset(once).get("batch") == 0, 600, "the batch")
    found = [json.loads(value or b"") for _, value in records(broker, first)]
    assert [row["payload"] for row in found] == [{"id": 1, **ROW}, {"id": 2, **ROW, "price": "AMg="}]
    fields = found[0]["schema"]["fields"]
    assert {field["field"]: field.get("name", field["type"]) for field in fields} == TYPES
    assert [field["field"] for field in fields if field["optional"]] == ["id", "price"]
    assert records(broker, first)[0][0] == b"Struct{id=1,price=1.00}"

    wait_until(lambda: len(records(broker, second)) >= 3, 600, "the rows of three reads")
    connect.wait(broken, "RUNNING", ["FAILED"], 180)
    trace = connect.status(broken)["tasks"][0]["trace"]
    assert f"Spark could not read parquet {source}: [UNRESOLVED_COLUMN" in trace

    connect.stop(again)
    partition, offset = {"spark.source": "query"}, connect.offset(again)
    status, answer = connect.request(
        "PATCH", f"/connectors/{again}/offsets", {"offsets": [{"partition": partition, "offset": {"batch": 1}}]}
    )
    assert (status, "'checkpoint' must be the checkpoint" in answer["message"]) == (400, True)
    connect.alter(again, (partition, {**offset, "checkpoint": "other"}))
    connect.put(again, "resume")
    connect.wait(again, "RUNNING", ["FAILED"], 180)
    assert "other of the committed offset does not exist" in connect.status(again)["tasks"][0]["trace"]


@pytest.mark.soak
def test_a_python_data_source_is_read_exactly_once(process: WorkerProcess, broker: KafkaBroker, tmp_path: Path) -> None:
    connect, name, topic = Connect(process), unique("source"), broker.create_topic(partitions=1)
    (tmp_path / "reads").touch()
    config = _config(
        topic, tmp_path, **{
            "spark.format": "tests.support.data_sources.Squares", "spark.mode": "once", "spark.option.total": "1000",
            "spark.option.reads": str(tmp_path / "reads"),
        },
    )  # fmt: skip
    connect.create(name, config)
    wait_until(lambda: len(records(broker, topic)) >= 1000 or "FAILED" in connect.states(name)[1], 120, "all rows")
    values = [json.loads(value or b"") for _, value in records(broker, topic)]
    assert sorted((value["n"], value["square"]) for value in values) == [(n, n * n) for n in range(1000)]
    response = connect.ask(
        "PUT", "/connector-plugins/SparkSource/config/validate", {**config, "name": name, "spark.format": "os.path"}
    )
    errors = {c["value"]["name"]: c["value"]["errors"] for c in response["configs"] if c["value"]["errors"]}
    (error,) = errors.pop("spark.format")
    assert "Invalid value os.path for configuration spark.format: not a subclass of DataSource" in error
    assert errors == {}

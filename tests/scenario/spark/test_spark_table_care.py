"""Delta and Iceberg tables whose columns evolve and whose small files are compacted while batches are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRING, Connect
from tests.support.packages.lake_sink import committed
from tests.support.packages.lakehouse import LakeRecipe, run_sql
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1200)]

JSON = {
    "key.converter": STRING,
    "value.converter.schemas.enable": "true",
    "spark.partition.by": "",
    "spark.schema.evolution": "evolve",
    "spark.trigger": "100 ms",
    "spark.compact.interval": "8 seconds",
}
UPSERT = {"spark.mode": "upsert", "spark.key.columns": "id"}


@pytest.mark.parametrize("mode", [{}, UPSERT], ids=["append", "upsert"])
def test_columns_evolve_and_small_files_are_compacted(
    recipe: LakeRecipe,
    mode: dict[str, str],
    worker: StartWorker,
    broker: KafkaBroker,
    tmp_path: Path,
) -> None:
    topic = broker.create_topic(partitions=1)
    process = worker(recipe.worker)
    connect, name = Connect(process), unique("care")
    connect.create(name, {**recipe.sink, "topics": topic, **JSON, **mode})
    sent: list[dict[str, Any]] = []

    def write(types: dict[str, str], **fields: Any) -> None:
        row = {"id": len(sent), **fields}
        _send(broker, topic, {"id": "int32", **types}, row)
        sent.append(row)
        wait_until(lambda: committed(connect, name) == len(sent), 300, f"row {len(sent)}", every=0.05)

    for number in range(12):
        write({"n": "int32", "f": "float"}, n=number, f=0.5)
    write({"n": "int64", "f": "double", "more": "string"}, n=1 << 40, f=0.1, more="text")
    log = process.log
    seen = log.read_text().count("has been maintained")
    wait_until(lambda: log.read_text().count("has been maintained") > seen + 1, 120, "a compaction", every=0.5)
    write({"n": "int32", "f": "float"}, n=5, f=0.5)
    connect.stop(name)

    rows = sorted(run_sql(recipe, f"SELECT * FROM {_table(recipe)}"), key=lambda row: int(row["id"]))
    assert rows == [{"more": None, **row} for row in sent]
    assert _files(recipe) <= 6  # Iceberg leaves up to four
    connect.ask("DELETE", f"/connectors/{name}")


def _table(recipe: LakeRecipe) -> str:
    return recipe.sink.get("spark.table") or f"delta.`{recipe.sink['spark.path']}`"


def _files(recipe: LakeRecipe) -> int:
    """The files of the table's current version."""
    if "spark.table" in recipe.sink:
        return int(run_sql(recipe, f"SELECT count(*) AS files FROM {_table(recipe)}.files")[0]["files"])
    return int(run_sql(recipe, f"DESCRIBE DETAIL {_table(recipe)}")[0]["numFiles"])


def _send(broker: KafkaBroker, topic: str, types: dict[str, str], row: dict[str, Any]) -> None:
    fields = [{"field": name, "type": kind, "optional": True} for name, kind in types.items()]
    broker.produce(topic, json.dumps({"schema": {"type": "struct", "fields": fields}, "payload": row}))

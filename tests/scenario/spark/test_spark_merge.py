"""Changes merged into Delta and Iceberg tables: the table has the last state of each key, whatever is killed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.packages.lake_sink import committed, kill_between_batches
from tests.support.packages.lakehouse import LakeRecipe, run_sql
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]

JSON = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "spark.mode": "upsert",
    "spark.trigger": "200 ms",
    "consumer.override.max.poll.records": "500",
}
ORDERED = JSON
OUT_OF_ORDER = {
    **JSON,
    "spark.key.columns": "id",
    "spark.envelope": "debezium",
    "spark.sequence.column": "source.lsn",
    "spark.delete.mode": "soft",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the row of a key: `number` is its position among all changes; None as text deletes the row."""

    number: int
    key: int
    text: str | None

    def row(self) -> dict[str, Any]:
        return {"id": self.key, "shop": f"shop {self.key % 3}", "number": self.number, "text": self.text}

    def value(self) -> Any:
        return None if self.text is None else self.row()

    def event(self) -> Any:
        """As Debezium's, with the replica identity of the key."""
        before = {"id": self.key}
        op, after = ("d", None) if self.text is None else ("u", self.row())
        return {"before": before, "after": after, "op": op, "source": {"lsn": self.number}}


def changes(count: int, keys: int, seed: int) -> list[Change]:
    """Inserts, updates and deletions."""
    dice = random.Random(seed)
    return [
        Change(number, dice.randrange(keys), None if dice.random() < 0.3 else f"text {number}")
        for number in range(count)
    ]


def final_state(made: list[Change]) -> dict[int, tuple[int, str]]:
    """Number and text of the last change of each key, without deleted ones."""
    last = {change.key: change for change in sorted(made, key=lambda change: change.number)}
    return {key: (change.number, change.text) for key, change in last.items() if change.text is not None}


@pytest.mark.parametrize("config", [ORDERED, OUT_OF_ORDER], ids=["ordered", "out of order"])
def test_the_table_has_the_last_state_of_each_key_after_kills_and_a_set_back(
    recipe: LakeRecipe,
    config: dict[str, str],
    worker: StartWorker,
    broker: KafkaBroker,
    tmp_path: Path,
) -> None:
    topic = broker.create_topic(partitions=2)
    made = changes(20_000, 2_000, seed=7)
    sent = _fill(broker, topic, made, config)
    process = worker({**recipe.worker, "exactly.once.source.support": "enabled"})
    connect, name = Connect(process), unique("merge")
    connect.create(name, {**recipe.sink, "topics": topic, "tasks.max": "2", "spark.batch.records": "1500", **config})
    kill_between_batches(process, connect, name)
    wait_until(lambda: committed(connect, name) == sent, 600, "all offsets committed", every=0.2)
    wait_until(partial(_all_published, tmp_path), 300, "the last batches", every=0.2)
    connect.stop(name)
    assert _state(recipe, config) == final_state(made)

    back = sent // 4
    connect.alter(name, ({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": back}))
    connect.resume(name, tasks=2)
    more = [Change(len(made) + n, change.key, change.text) for n, change in enumerate(changes(500, 2_000, seed=8))]
    sent += _fill(broker, topic, more, config)
    wait_until(lambda: committed(connect, name) == sent, 600, "the changes that are merged again", every=0.2)
    wait_until(partial(_all_published, tmp_path), 300, "the last batches", every=0.2)
    connect.stop(name)
    assert _state(recipe, config) == final_state(made + more)
    connect.ask("DELETE", f"/connectors/{name}")


def _all_published(folder: Path) -> bool:
    """Whether no batches are staged: in Delta's folder for them, or as tables of Iceberg."""
    return not [*folder.glob("**/.headrace/*/*"), *folder.glob("**/*__headrace_*")]


def _state(recipe: LakeRecipe, config: dict[str, str]) -> dict[int, tuple[int, str]]:
    table = recipe.sink.get("spark.table") or f"delta.`{recipe.sink['spark.path']}`"
    alive = " WHERE NOT __deleted" if config.get("spark.delete.mode") == "soft" else ""
    rows = run_sql(recipe, f"SELECT * FROM {table}{alive}")
    state = {row["id"]: (row["number"], row["text"]) for row in rows}
    assert len(state) == len(rows), "a key has several rows"
    assert all(row["shop"] == f"shop {row['id'] % 3}" for row in rows)
    return state


def _fill(broker: KafkaBroker, topic: str, made: list[Change], config: dict[str, str]) -> int:
    """Send changes, out of order if they have a sequence; the records sent."""
    events = config.get("spark.envelope") == "debezium"
    with broker.writing() as write:
        for change in _shuffled(made) if events else made:
            value = change.event() if events else change.value()
            text = None if value is None else json.dumps(value)
            write(topic, text, json.dumps({"id": change.key}), partition=change.key % 2)
    return len(made)


def _shuffled(made: list[Change]) -> Iterator[Change]:
    dice = random.Random(9)
    yield from sorted(made, key=lambda change: change.number + dice.randrange(4_000))

"""Delta and Iceberg tables: each record is in the table once, and each row of the table in a topic once."""

from __future__ import annotations

import json
from collections import Counter
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRING, Connect
from tests.support.free_ports import free_port
from tests.support.packages.lake_sink import committed, kill_between_batches
from tests.support.packages.lakehouse import LakeRecipe, older_pyspark, page_steps, run_sql
from tests.support.shell_steps import ShellSteps
from tests.support.tasks.pipeline import records
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("count", [20_000, 1_000_000])
def test_each_record_is_in_the_table_once_after_kills_and_again_after_a_set_back(
    recipe: LakeRecipe,
    count: int,
    worker: StartWorker,
    broker: KafkaBroker,
    tmp_path: Path,
) -> None:
    topic = broker.create_topic(partitions=2)
    _fill(broker, topic, range(count))
    process = worker({**recipe.worker, "exactly.once.source.support": "enabled"})
    connect, name = Connect(process), unique("lake")
    connect.create(
        name,
        {
            **recipe.sink,
            "topics": topic,
            "spark.trigger": "200 ms",
            "spark.batch.records": str(count // 10),
            "consumer.override.max.poll.records": "500",
            "key.converter": STRING,
        },
    )
    kill_between_batches(process, connect, name)
    wait_until(lambda: committed(connect, name) == count, 600, "all offsets committed", every=0.2)

    connect.stop(name)
    back = count // 2 - 100
    connect.alter(name, ({"kafka_topic": topic, "kafka_partition": 0}, {"kafka_offset": back}))
    connect.resume(name)
    again = range(back * 2, count, 2)
    wait_until(lambda: committed(connect, name) == count, 300, "the records that are written again", every=0.2)
    _fill(broker, topic, range(count, count + 10), ',"note":"new"')
    wait_until(lambda: committed(connect, name) == count + 10, 300, "records with another column", every=0.2)

    expected = Counter(range(count + 10)) + Counter(again)
    rows = _rows_of(connect, broker, recipe, expected.total())
    assert Counter(row["id"] for row in rows) == expected
    assert all(row["shop"] == f"shop {row['id'] % 3}" for row in rows)
    assert sorted(row["id"] for row in rows if row["note"] == "new") == list(range(count, count + 10))
    connect.ask("DELETE", f"/connectors/{name}")


EXPIRED = "CALL lake.system.expire_snapshots(table => 'shop.orders', older_than => now(), retain_last => 1)"


@pytest.mark.parametrize("recipe", ["Iceberg"], indirect=True)
def test_an_iceberg_table_that_others_change_and_drop(
    recipe: LakeRecipe, worker: StartWorker, broker: KafkaBroker
) -> None:
    topic, copy = broker.create_topic(partitions=1), broker.create_topic(partitions=1)
    connect = Connect(worker({**recipe.worker, "exactly.once.source.support": "enabled"}))
    name, follower = unique("lake"), unique("follow")
    connect.create(name, {**recipe.sink, "topics": topic, "spark.trigger": "200 ms", "key.converter": STRING})

    def write(numbers: range, more: str = "") -> None:
        _fill(broker, topic, numbers, more, partitions=1)
        wait_until(lambda: committed(connect, name) == numbers.stop, 600, "the records in the table", every=0.2)

    def rows(start: int, count: int) -> list[dict[str, Any]]:
        """The rows that the follower has read, from number `start`."""
        wait_until(lambda: len(records(broker, copy)) >= start + count, 600, f"{count} rows", every=1)
        return [json.loads(value or b"") for _, value in records(broker, copy)[start:]]

    def failure() -> str:
        connect.wait(follower, "RUNNING", ["FAILED"], 600)
        return str(connect.status(follower)["tasks"][0]["trace"])

    def reset() -> None:
        connect.stop(follower)
        connect.ask("DELETE", f"/connectors/{follower}/offsets")
        connect.resume(follower)

    write(range(100))
    connect.create(follower, {**recipe.source, "topic": copy, "spark.trigger": "500 ms", "key.converter": STRING})
    assert [row["id"] for row in sorted(rows(0, 100), key=itemgetter("id"))] == list(range(100))

    write(range(100, 110), ',"note":"new"')
    assert sorted(row["id"] for row in rows(100, 10)) == list(range(100, 110))

    connect.stop(follower)
    write(range(110, 120))
    write(range(120, 130))
    run_sql(recipe, EXPIRED)  # with the snapshot up to which the follower has read
    connect.put(follower, "resume")
    assert "the snapshot was expired or removed" in failure()
    reset()
    assert sorted(row["id"] for row in rows(110, 10)) == list(range(120, 130))

    run_sql(recipe, "DROP TABLE lake.shop.orders PURGE")
    assert "TABLE_OR_VIEW_NOT_FOUND" in failure()
    write(range(130, 140))  # the sink creates the table again
    reset()
    assert sorted(row["id"] for row in rows(120, 10)) == list(range(130, 140))
    assert connect.states(name) == ("RUNNING", ["RUNNING"])


def _rows_of(connect: Connect, broker: KafkaBroker, recipe: LakeRecipe, count: int) -> list[dict[str, Any]]:
    """The rows of the table, which a SparkSource follows."""
    topic, name = broker.create_topic(partitions=1), unique("follow")
    connect.create(name, {**recipe.source, "topic": topic, "spark.trigger": "1 second", "key.converter": STRING})
    wait_until(lambda: len(records(broker, topic)) >= count, 600, "the rows of the table", every=1)
    connect.stop(name)
    return [json.loads(value or b"") for _, value in records(broker, topic)]


def _fill(broker: KafkaBroker, topic: str, numbers: range, more: str = "", partitions: int = 2) -> None:
    with broker.writing() as write:
        for number in numbers:
            write(topic, f'{{"id":{number},"shop":"shop {number % 3}"{more}}}', partition=number % partitions)


def test_from_nothing_to_a_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of the page, with free ports."""
    monkeypatch.setenv("PYTHONPATH", str(older_pyspark()))
    kafka, rest, own = (str(free_port()) for _ in range(3))
    terminal = ShellSteps(tmp_path, HEADRACE_URL=f"http://127.0.0.1:{own}")
    try:
        for step in page_steps("From nothing to a table"):
            terminal.run(step.replace("9092", kafka).replace("8083", rest).replace("8084", own))

        def totals() -> dict[str, int]:
            text = (tmp_path / "totals.txt").read_text() if (tmp_path / "totals.txt").exists() else ""
            lines = [line for line in text.splitlines() if line.endswith("}")]
            return {row["status"]: row["orders"] for row in map(json.loads, lines[-3:])}

        wait_until(lambda: sum(totals().values()) > 8500, 180, "nine of ten orders", every=0.5)
        counts = totals()
        assert sorted(counts) == ["created", "paid", "shipped"] and sum(counts.values()) < 9500
    finally:
        terminal.run("kill $(cat worker.pid); headrace embedded down")

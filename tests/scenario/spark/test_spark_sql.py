"""headrace.SparkSql in a worker: a source and a sink, dead letters, validation and preview."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, STRING, Connect, dead_letters
from tests.support.tasks.pipeline import messages, records
from tests.support.waiting import wait_until

JSON = {
    "key.converter": STRING,
    **JSON_VALUES,
}
SOURCE_SQL = (
    "SELECT CAST(id AS STRING) AS key, id, explode(tags) AS tag "
    "FROM (SELECT j.* FROM (SELECT from_json(value, 'id BIGINT, tags ARRAY<STRING>') AS j FROM records)) "
    "WHERE id % 3 > 0"
)


def sql(query: str, **more: str) -> dict[str, str]:
    return {"transforms": "q", "transforms.q.type": "headrace.SparkSql", "transforms.q.sql": query, **more}


def test_a_source_drops_records_and_makes_several_of_one(connect: Connect, broker: KafkaBroker, tmp_path: Path) -> None:
    name, topic, file = unique("sql-source"), broker.create_topic(), tmp_path / "lines"
    rows: list[dict[str, Any]] = [{"id": n, "tags": [f"t{tag}" for tag in range(n % 4)]} for n in range(3_001)]
    lines = [json.dumps(row) for row in rows]
    file.write_text("\n".join(lines) + "\n")
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": topic, **JSON, **sql(SOURCE_SQL)}
    connect.create(name, config)
    assert rows[-1]["id"] % 3 == 0  # it is dropped
    expected = [
        (str(row["id"]).encode(), {"id": row["id"], "tag": tag}) for row in rows if row["id"] % 3 for tag in row["tags"]
    ]
    wait_until(lambda: len(records(broker, topic)) >= len(expected) or connect.states(name)[1] == ["FAILED"], 60, name)
    assert [(key, json.loads(value or b"")) for key, value in records(broker, topic)] == expected
    end = {"position": file.stat().st_size}
    wait_until(lambda: [entry["offset"] for entry in connect.offsets(name)] == [end], 30, "the offset of the last line")


def test_the_record_at_fault_becomes_a_dead_letter_of_a_sink(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    name, topic, file = unique("sql-sink"), broker.create_topic(), tmp_path / "out"
    broker.produce(topic, *(json.dumps({"id": n, "name": f"n{n}"}).encode() for n in range(500)))
    letters = broker.create_topic()
    errors = dead_letters(letters)
    query = "SELECT id, 1000 DIV (id - 77) AS q, upper(name) AS name, offset FROM records WHERE id < 400"
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(file), **JSON, **errors, **sql(query)}
    connect.create(name, config)
    offsets = [{"partition": {"kafka_topic": topic, "kafka_partition": 0}, "offset": {"kafka_offset": 500}}]
    wait_until(lambda: connect.offsets(name) == offsets or connect.states(name)[1] == ["FAILED"], 60, "its offsets")
    assert connect.states(name)[1] == ["RUNNING"]
    good = [n for n in range(400) if n != 77]
    expected = [f"{{q={int(1000 / (n - 77))}, offset={n}, name=N{n}, id={n}}}" for n in good]
    assert file.read_text().splitlines() == expected
    (letter,) = messages(broker, letters)
    headers = dict(letter.headers())
    assert letter.value() == b'{"id": 77, "name": "n77"}'
    assert headers["__connect.errors.offset"] == b"77"
    assert b"DIVIDE_BY_ZERO" in headers["__connect.errors.exception.message"]


def test_a_record_that_needs_more_memory_than_spark_has_becomes_a_dead_letter(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    topic, letters, name, file = broker.create_topic(), broker.create_topic(), unique("large"), tmp_path / "out.txt"
    broker.produce(topic, *(json.dumps({"n": n}) for n in (1, 300_000_000, 2)))
    query = "SELECT explode(sequence(1, n)) AS i FROM records"
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(file), **JSON, **sql(query)}
    connect.create(name, {**config, **dead_letters(letters)})
    wait_until(lambda: messages(broker, letters) or connect.states(name)[1] == ["FAILED"], 60, "the dead letter")
    (letter,) = messages(broker, letters)
    assert letter.value() == b'{"n": 300000000}'
    assert b"spark.driver.memory" in dict(letter.headers())["__connect.errors.exception.message"]
    wait_until(lambda: file.read_text().splitlines() == ["{i=1}", "{i=1}", "{i=2}"], 60, "the other records")


def test_a_query_is_checked_and_previewed_before_it_is_used(connect: Connect) -> None:
    config = {"connector.class": "FileStreamSource", "name": "q", "file": "f", "topic": "t", **JSON}

    def errors(query: str) -> list[str]:
        response = connect.ask("PUT", "/connector-plugins/FileStreamSource/config/validate", {**config, **sql(query)})
        values = {entry["value"]["name"]: entry["value"] for entry in response["configs"]}
        found: list[str] = values["transforms.q.sql"]["errors"]
        return found

    assert errors(SOURCE_SQL) == []
    (refused,) = errors("SELECT count(*) FROM records")
    assert "count(): GROUP BY and aggregate functions would combine the records of a batch" in refused
    assert "PARSE_SYNTAX_ERROR" in errors("SELECT (id FROM records")[0]
    assert "not a statement" in errors("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x")[0]
    body: dict[str, Any] = {"config": {**config, **sql(SOURCE_SQL)},
                            "records": ['{"id": 1, "tags": ["a", "b"]}', '{"id": 3, "tags": ["c"]}']}  # fmt: skip
    preview = connect.ask("POST", "/connector-plugins/FileStreamSource/preview", body)
    first, second = preview["records"]
    assert [first["after"]["value"], *(record["value"] for record in first["more"])] == [
        {"id": 1, "tag": "a"}, {"id": 1, "tag": "b"},
    ]  # fmt: skip
    assert (first["result"], first["after"]["key"], second["result"]) == ("CHANGED", "1", "DROPPED")

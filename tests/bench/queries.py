"""A row about queries over topics: a million records through Spark's Structured Streaming."""

from __future__ import annotations

import time

from tests.bench.sides import JAVA, Bench, Refused, create
from tests.bench.throughput import RECORDS, end, filled, map_text, until, watching
from tests.support.broker import unique
from tests.support.connect import JSON_VALUES, STRING, Connect
from tests.support.process_usage import usage

_SQL = "SELECT id, name, amount * 1.19 AS gross FROM `{}` WHERE id % 10 > 0"
_RESULTS = RECORDS * 9 // 10


def kafka_query(bench: Bench, side: str, runs: int) -> dict[str, float]:
    """Records a second that a query of a projection and a filter reads, from the request that creates the connector to
    the last result. A first connector warms the session."""
    if side == JAVA:
        raise Refused("Apache Kafka has no connector for queries")
    with bench.running(side) as connect:
        topic = filled(bench, "maps", map_text, 4)
        measured = sorted([_measured(bench, connect, topic) for _ in range(runs + 1)][1:])
    seconds, cpu = measured[len(measured) // 2]
    return {"query": RECORDS / seconds, "query-cpu": cpu / RECORDS * 1e6}


def _measured(bench: Bench, connect: Connect, topic: str) -> tuple[float, float]:
    """Seconds, from the request that creates the connector, and seconds of the processor."""
    name, results = unique("query"), bench.topic("results")
    with watching(bench) as watcher:
        before, started = usage(connect.worker.pid).cpu, time.monotonic()
        create(connect, name, {
            "connector.class": "KafkaQuery", "kafka.bootstrap.servers": bench.broker.bootstrap, "query.topics": topic,
            f"query.schema.{topic}": "id BIGINT, name STRING, amount DOUBLE", "spark.sql": _SQL.format(topic),
            "topic": results, "spark.checkpoint": str(bench.folder / "checkpoints"), "key.converter": STRING,
            **JSON_VALUES,
        })  # fmt: skip
        until(connect, name, lambda: end(watcher, results) >= _RESULTS)
        seconds = time.monotonic() - started
        cpu = usage(connect.worker.pid).cpu - before
    connect.ask("DELETE", f"/connectors/{name}")
    return seconds, cpu

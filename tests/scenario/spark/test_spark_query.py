"""KafkaQuery in a worker: results are in the topic once, also after kills; changed queries continue or are refused."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import JSON_VALUES, STRING, STRINGS, Connect
from tests.support.engine.engine_recorder import living_driver
from tests.support.processes import children
from tests.support.tasks.pipeline import records
from tests.support.waiting import wait_until
from tests.support.workers import StartWorker, WorkerProcess

pytestmark = [pytest.mark.timeout(1800), pytest.mark.slow]

_ORDERS = "id BIGINT, customer STRING, amount BIGINT, at TIMESTAMP"
_START = 1_700_000_000  # seconds: the time of the first order
_WINDOW = 60  # seconds


@pytest.fixture(scope="module")
def process(module_worker: StartWorker) -> WorkerProcess:
    """A worker with exactly-once support, which has started Spark, so that it checks queries."""
    worker = module_worker({"exactly.once.source.support": "enabled"})
    connect = Connect(worker)
    datagen = {"connector.class": "Datagen", "fields": '{"n": "sequence"}', "count": "1", "topic": unique("started")}
    connect.create("started", {**datagen, **STRINGS})
    connect.wait("started", "RUNNING", ["RUNNING"], 180)
    return worker


class Orders:
    """Topics of orders, payments and customers, and what each query has to make of them."""

    def __init__(self, broker: KafkaBroker, seed: int = 7) -> None:
        self._broker, self._random = broker, random.Random(seed)
        names = ("orders", "payments", "customers")
        self.topics = {name: broker.create_topic(unique(name), partitions=3) for name in names}
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
        self.sent: list[dict[str, Any]] = []
        self.paid: list[int] = []
        for name in ("old", "new"):  # the last record of a key counts
            self._send("customers", [{"name": f"c{n}", "country": f"{name}-{n % 3}"} for n in range(10)], "name")
        self._producer.produce(self.topics["customers"], None, "c9")
        self._producer.flush()

    def produce(self, count: int) -> None:
        """Orders, one in ten twice, and payments for two of three."""
        first = len({order["id"] for order in self.sent})
        orders = [self._order(number) for number in range(first, first + count)]
        orders += self._random.sample(orders, count // 10)
        self._random.shuffle(orders)
        self.sent += orders
        self._send("orders", orders, "customer")
        paid = [number for number in range(first, first + count) if number % 3]
        self.paid += paid
        self._send("payments", [{"order_id": number, "paid_at": _time(number + 5)} for number in paid], "order_id")

    def finish(self) -> None:
        """An order of the far future, which ends all windows."""
        self._send("orders", [{"id": -1, "customer": "end", "amount": 0, "at": _time(10_000_000)}], "customer")

    @property
    def distinct(self) -> list[dict[str, Any]]:
        return list({order["id"]: order for order in self.sent}.values())

    def windows(self) -> Counter[tuple[int, str, int, int]]:
        """Window, customer, orders and amount."""
        sums: dict[tuple[int, str], list[int]] = {}
        for order in self.sent:
            start = (_START + order["id"] // 10) // _WINDOW * _WINDOW
            sums.setdefault((start * 1000, order["customer"]), []).append(order["amount"])
        return Counter((*key, len(amounts), sum(amounts)) for key, amounts in sums.items())

    def _order(self, number: int) -> dict[str, Any]:
        customer = f"c{self._random.randrange(10)}"
        return {"id": number, "customer": customer, "amount": self._random.randrange(1000), "at": _time(number)}

    def _send(self, topic: str, values: Sequence[dict[str, Any]], key: str) -> None:
        for value in values:
            self._producer.produce(self.topics[topic], json.dumps(value), str(value[key]))
            self._producer.poll(0)
        assert self._producer.flush(60) == 0


def _time(number: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(_START + number // 10))


def _config(broker: KafkaBroker, topic: str, folder: Path, sql: str, *topics: str, **more: str) -> dict[str, str]:
    return {
        "connector.class": "KafkaQuery",
        "kafka.bootstrap.servers": broker.bootstrap,
        "query.topics": ",".join(topics),
        "spark.sql": sql,
        "topic": topic,
        "spark.checkpoint": str(folder / "checkpoints"),
        "spark.trigger": "100 ms",
        "query.partitions": "2",
        "key.converter": STRING,
        **JSON_VALUES,
        **more,
    }


def _windows_sql(orders: str) -> str:
    return f"""
        SELECT unix_millis(window.start) AS start, customer, count(*) AS orders, sum(amount) AS amount
        FROM `{orders}` WATERMARK at DELAY OF INTERVAL 1 HOUR
        GROUP BY window(at, '{_WINDOW} seconds'), customer
    """


def _values(broker: KafkaBroker, topic: str) -> list[dict[str, Any]]:
    return [json.loads(value) for _, value in records(broker, topic) if value is not None]


def _found_windows(broker: KafkaBroker, topic: str) -> Counter[tuple[int, str, int, int]]:
    rows = _values(broker, topic)
    return Counter((row["start"], row["customer"], row["orders"], row["amount"]) for row in rows)


def _kill(process: WorkerProcess, connect: Connect, name: str, victim: str) -> None:
    if victim == "everything":
        for pid in (process.pid, *children(process.pid)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.kill()
        process.start()
    elif victim == "worker":
        process.kill()
        process.start()
    else:
        os.kill(connect.slot_of(name) if victim == "slot" else living_driver(process.pid), signal.SIGKILL)


def test_windows_are_sent_once_after_a_kill_and_a_changed_query_is_refused(
    process: WorkerProcess, broker: KafkaBroker, tmp_path: Path
) -> None:
    connect, name, orders = Connect(process), unique("query"), Orders(broker)
    topic, source = broker.create_topic(partitions=1), orders.topics["orders"]
    config = _config(
        broker, topic, tmp_path, _windows_sql(source), source,
        **{f"query.schema.{source}": _ORDERS, "spark.key": "customer"},
    )  # fmt: skip
    orders.produce(2_000)
    connect.create(name, config)
    wait_until(lambda: connect.offset(name).get("batch", -1) >= 0, 600, "the first batch")
    orders.produce(2_000)
    _kill(process, connect, name, "slot")
    connect.wait(name, "RUNNING", ["RUNNING"], 180)
    orders.produce(1_000)
    orders.finish()
    expected = orders.windows()
    wait_until(lambda: len(_found_windows(broker, topic)) >= len(expected), 600, "the windows")
    assert _found_windows(broker, topic) == expected
    assert {key for key, _ in records(broker, topic)} == {b"c%d" % number for number in range(10)}

    projected = _windows_sql(source).replace("count(*) AS orders", "count(*) AS orders, 1 AS version")
    changed = {**config, "spark.sql": projected.replace("customer,", "upper(customer) AS customer,", 1)}
    connect.ask("PUT", f"/connectors/{name}/config", changed)
    connect.wait(name, "RUNNING", ["FAILED"], 180)
    trace = connect.status(name)["tasks"][0]["trace"]
    assert "The query has changed in an aggregate, or in what it reads, so that it cannot continue" in trace
    assert "stop the connector and reset its offset" in trace
    above = f"SELECT start, customer, orders, amount, 'v2' AS version FROM ({_windows_sql(source)})"
    connect.ask("PUT", f"/connectors/{name}/config", {**config, "spark.sql": above})
    connect.wait(name, "RUNNING", ["RUNNING"], 180)
    connect.ask("DELETE", f"/connectors/{name}")


@pytest.mark.parametrize(
    ("changes", "key", "message"),
    [
        ({"query.topics": "no.such.topic"}, "query.topics", "Topic no.such.topic does not exist"),
        ({"spark.sql": "SELECT * FROM `{0}` ORDER BY"}, "spark.sql", "PARSE_SYNTAX_ERROR"),
        ({"spark.sql": "SELECT nothing FROM `{0}`"}, "spark.sql", "UNRESOLVED_COLUMN"),
        ({"spark.sql": "SELECT count(*) AS n FROM `{0}`"}, "spark.sql", "output mode: append"),
        ({"spark.sql": "SELECT 1 AS n"}, "spark.sql", "not a stream"),
        ({"spark.key": "other"}, "spark.sql", "spark.key names no column"),
        ({"spark.sql": "SELECT id, 1 AS ID FROM `{0}`"}, "spark.sql", "the columns id and ID, whose names differ only"),
        ({"query.output.mode": "complete"}, "spark.sql", "output mode: complete"),
    ],
)
def test_validation_names_what_spark_and_kafka_refuse(
    changes: dict[str, str], key: str, message: str, process: WorkerProcess, broker: KafkaBroker, tmp_path: Path
) -> None:
    source = broker.create_topic()
    config = _config(broker, "out", tmp_path, "SELECT id FROM `{0}`", source, name="q") | changes
    config["spark.sql"] = config["spark.sql"].format(source)
    if config["query.topics"] == source:
        config[f"query.schema.{source}"] = "id BIGINT"
    response = Connect(process).ask("PUT", "/connector-plugins/KafkaQuery/config/validate", config)
    errors = {entry["value"]["name"]: entry["value"]["errors"] for entry in response["configs"]}
    assert [name for name, found in errors.items() if found] == [key]
    assert message in errors[key][0]


def test_a_value_that_is_not_of_the_schema_fails_the_query_or_is_left_out(
    process: WorkerProcess, broker: KafkaBroker, tmp_path: Path
) -> None:
    connect, source, topic = Connect(process), broker.create_topic(partitions=1), broker.create_topic(partitions=1)
    with broker.writing() as write:
        for value in ('{"id": 1}', "[1, 2]", '{"id": "x"}', "nonsense", b"\xff", '{"id": 2}', None):
            write(source, value, "k")
    sql = f"SELECT id, key, offset FROM `{source}`"
    config = _config(
        broker, topic, tmp_path, sql, source, **{f"query.schema.{source}": "id BIGINT", "spark.read.retries": "1"},
    )  # fmt: skip
    name = unique("query")
    connect.create(name, {**config, "spark.sql": f"{sql} WHERE id > 0"})
    connect.wait(name, "RUNNING", ["FAILED"], 300)
    trace = connect.status(name)["tasks"][0]["trace"]
    assert f"The value of {source}-0 at offset 1 is not JSON of the schema (query.schema)" in trace
    connect.ask("PUT", f"/connectors/{name}/config", {**config, "query.malformed": "skip"})
    wait_until(lambda: len(_values(broker, topic)) >= 3, 300, "the rows")
    rows = [(row["id"], row["key"], row["offset"]) for row in _values(broker, topic)]
    assert rows == [(1, "k", 0), (2, "k", 5), (None, "k", 6)]
    connect.ask("DELETE", f"/connectors/{name}")


@pytest.mark.soak
def test_queries_of_each_kind_lose_and_double_nothing_while_processes_are_killed(
    process: WorkerProcess, broker: KafkaBroker, tmp_path: Path
) -> None:
    connect, orders = Connect(process), Orders(broker)
    source, payments, customers = (orders.topics[name] for name in ("orders", "payments", "customers"))
    paid_schema = {f"query.schema.{payments}": "order_id BIGINT, paid_at TIMESTAMP"}
    schemas = {f"query.schema.{source}": _ORDERS}
    out = {kind: broker.create_topic(partitions=1) for kind in ("filter", "windows", "once", "joined", "enriched")}
    queries: dict[str, tuple[str, list[str], dict[str, str]]] = {
        "filter": (f"SELECT id, amount FROM `{source}` WHERE amount < 500", [source], {}),
        "windows": (_windows_sql(source), [source], {}),
        "once": (
            f"SELECT id, customer FROM `{source}`", [source], {f"query.unique.{source}": "id within 1 hour of at"},
        ),
        "joined": (
            f"""SELECT o.id, o.amount, p.paid_at FROM `{source}` WATERMARK at DELAY OF INTERVAL 1 HOUR AS o
            JOIN `{payments}` WATERMARK paid_at DELAY OF INTERVAL 1 HOUR AS p
            ON o.id = p.order_id AND p.paid_at BETWEEN o.at AND o.at + INTERVAL 1 HOUR""",
            [source, payments], paid_schema,
        ),
        "enriched": (
            f"SELECT o.id, c.country FROM `{source}` o LEFT JOIN `{customers}` c ON o.customer = c.name",
            [source], {"query.tables": customers, f"query.schema.{customers}": "name STRING, country STRING"},
        ),
    }  # fmt: skip
    names = {kind: unique(kind) for kind in queries}
    for kind, (sql, topics, more) in queries.items():
        connect.create(names[kind], _config(broker, out[kind], tmp_path, sql, *topics, **schemas, **more))
    victims = ["slot", "driver", "everything", "worker", "everything"]
    for number, victim in enumerate(victims):
        orders.produce(3_000)
        kind = list(queries)[number % len(queries)]
        time.sleep(1 + number % 3 * 0.7)  # another step of a batch
        _kill(process, connect, names[kind], victim)
        before = connect.offset(names[kind]).get("batch", -1)
        orders.produce(1_000)
        wait_until(partial(_has_passed, connect, names[kind], before), 600, f"a batch after the kill of the {victim}")
    wait_until(lambda: len(_values(broker, out["enriched"])) >= len(orders.sent), 600, "all orders")
    time.sleep(5)  # the windows' query has read what the others have
    orders.finish()
    sent = orders.sent
    expected: dict[str, Counter[Any]] = {
        "filter": Counter((order["id"], order["amount"]) for order in sent if order["amount"] < 500),
        "windows": orders.windows(),
        "once": Counter((order["id"], order["customer"]) for order in orders.distinct),
        "joined": Counter((order["id"], order["amount"]) for order in sent if order["id"] % 3),
        "enriched": Counter((order["id"], _country(order["customer"])) for order in sent),
    }
    expected["filter"][(-1, 0)] += 1
    expected["once"][(-1, "end")] += 1
    expected["enriched"][(-1, None)] += 1
    found = {kind: partial(_found, broker, out[kind], kind) for kind in queries}
    for kind, wanted in expected.items():
        wait_until(partial(_has_all, found[kind], wanted), 600, kind)
    time.sleep(3)
    for kind, wanted in expected.items():
        rows = found[kind]()
        assert (rows - wanted, wanted - rows) == (Counter(), Counter()), kind
    for name in names.values():
        connect.ask("DELETE", f"/connectors/{name}")


def _country(customer: str) -> str | None:
    return None if customer == "c9" else f"new-{int(customer[1:]) % 3}"


def _has_passed(connect: Connect, name: str, batch: int) -> bool:
    return bool(connect.offset(name).get("batch", -1) > batch)


def _has_all(found: Callable[[], Counter[Any]], wanted: Counter[Any]) -> bool:
    return found().total() >= wanted.total()


def _found(broker: KafkaBroker, topic: str, kind: str) -> Counter[Any]:
    if kind == "windows":
        return _found_windows(broker, topic)
    fields = {"once": ("id", "customer"), "enriched": ("id", "country")}.get(kind, ("id", "amount"))
    return Counter(tuple(row[field] for field in fields) for row in _values(broker, topic))

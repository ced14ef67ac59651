"""HttpSource, HttpSink, DataSource and VerifiableSink in slots: records, dead letters and altered offsets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.broker import KafkaBroker
from tests.support.connect import JSON_VALUES, Connect, dead_letters
from tests.support.kafka.topics import values
from tests.support.servers.http_endpoint import Answer, Received, http_server
from tests.support.waiting import wait_until

NUMBERS = "tests.support.data_sources.Numbers"
JSON = {
    **JSON_VALUES,
    "tasks.max": "1",
}
UNLUCKY = 13


class Api:
    """Items with ids from 1 on, in pages, and an endpoint that refuses one of them."""

    def __init__(self, count: int) -> None:
        self.count, self.accepted = count, list[int]()

    def __call__(self, request: Received) -> Answer:
        if request.method == "GET":
            start = int(request.query.get("since", "0")) + int(request.query.get("offset", "0"))
            return 200, {}, [{"id": n} for n in range(start + 1, min(start + 50, self.count) + 1)]
        found = [item["id"] for item in request.json]
        if UNLUCKY in found:
            return 422, {}, "unlucky"
        self.accepted += found
        return 200, {}, ""


def test_records_pass_through_kafka_and_offsets_can_be_altered(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    items, numbers, letters = broker.create_topic(), broker.create_topic(), broker.create_topic()
    api, commits = Api(200), tmp_path / "commits"
    commits.touch()
    with http_server(api) as server:
        connect.create("http-source", _http_source(server.url, items))
        connect.create("http-sink", _http_sink(server.url, items, letters))
        connect.create("data-source", _data_source(numbers, commits))
        connect.create("verifiable-sink", {"connector.class": "VerifiableSink", "topics": numbers, **JSON})
        expected = sorted({*range(1, 201)} - {UNLUCKY})
        wait_until(lambda: sorted(api.accepted) == expected, 60, "all items but one")
        assert b'{"id":13}' in (values(broker.bootstrap, letters, 1)[0] or b"")
        assert len(values(broker.bootstrap, numbers, 1000)) == 1000

        _offset(connect, "data-source", {"offset": '{"n":1000}'})
        wait_until(lambda: '{"n": 1000}' in commits.read_text(), 20, "the reader's commit")
        wait_until(lambda: '"flushed":true' in str(connect.logs("verifiable-sink")), 20, "lines of committed records")

        position = _offset(connect, "http-source", None)
        assert position["offset"].get("next_cursor", position["offset"].get("cursor")) == 200
        connect.stop("http-source")
        connect.stop("data-source")
        connect.alter("http-source", (position["partition"], {"cursor": 190}))
        connect.alter("data-source", ({"data.source": NUMBERS}, {"offset": '{"n": 990}'}))
        connect.resume("http-source")
        connect.resume("data-source", tasks=2)
        wait_until(lambda: sorted(api.accepted) == sorted([*expected, *range(191, 201)]), 30, "the last items again")
        assert len(values(broker.bootstrap, numbers, 1010)) == 1010
        assert connect.states("http-sink") == ("RUNNING", ["RUNNING"])


class Shop:
    """Customers with orders in pages of two, from an id on."""

    def __init__(self) -> None:
        self.orders = {1: [11, 12, 13], 2: [21], 3: [31, 32]}

    def __call__(self, request: Received) -> Answer:
        if request.path == "/customers":
            return 200, {}, [{"id": n} for n in self.orders]
        customer = int(request.path.split("/")[2])
        since, start = int(request.query.get("since", "0")), int(request.query["offset"])
        found = [{"id": n, "total": n / 2} for n in self.orders[customer] if n > since]
        return 200, {}, found[start : start + 2]


def test_streams_of_a_manifest_continue_exactly_after_a_restart_and_a_set_back(
    connect: Connect, broker: KafkaBroker
) -> None:
    orders, customers, shop = broker.create_topic(), broker.create_topic(), Shop()
    with http_server(shop) as server:
        connect.create("http-shop", _shop(server.url, orders, customers))
        assert _ids(broker, orders, 6) == [11, 12, 13, 21, 31, 32]
        wait_until(
            lambda: len(connect.offsets("http-shop")) == 6, 20, "offsets of streams, parents, children and schema"
        )

        connect.stop("http-shop")
        shop.orders[2].append(22)
        connect.resume("http-shop", tasks=2)
        assert _ids(broker, orders, 7)[6:] == [22]

        connect.stop("http-shop")
        partitions = [entry["partition"] for entry in connect.offsets("http-shop")]
        (child,) = (partition for partition in partitions if partition.get("parent.id") == 1)
        connect.alter("http-shop", (child, {"cursor": 11}))
        connect.resume("http-shop", tasks=2)
        assert _ids(broker, orders, 9)[7:] == [12, 13]
        found = values(broker.bootstrap, orders, 10, timeout=2)
        assert len(found) == 9, "nothing is written twice"
        assert len({json.dumps(json.loads(value or b"")["schema"]) for value in found}) == 1
        assert _ids(broker, customers, 3) == [1, 2, 3]


def _shop(url: str, orders: str, customers: str) -> dict[str, str]:
    since = {"parameters": {"since": "${cursor}"}, "cursor": {"field": "id"}}
    streams = [
        {"name": "customers", "topic": customers, "path": "/customers", "poll_interval": "1h"},
        {"name": "orders", "topic": orders, "path": "/customers/${parent.id}/orders", "parent": "customers",
         "schema": "infer", "pagination": {"type": "offset"}, "poll_interval": "100ms", **since},
    ]  # fmt: skip
    return JSON | {
        "connector.class": "HttpSource",
        "tasks.max": "2",
        "value.converter.schemas.enable": "true",
        "http.manifest": json.dumps({"base_url": url, "streams": streams}),
    }


def _ids(broker: KafkaBroker, topic: str, count: int) -> list[int]:
    return [json.loads(value or b"")["payload"]["id"] for value in values(broker.bootstrap, topic, count)]


def _http_source(url: str, topic: str) -> dict[str, str]:
    return JSON | {
        "connector.class": "HttpSource",
        "topic": topic,
        "http.url": f"{url}/items",
        "http.pagination": "offset",
        "http.cursor.pointer": "/id",
        "http.parameter.since": "${cursor}",
        "http.poll.interval.ms": "100",
    }


def _http_sink(url: str, topic: str, letters: str) -> dict[str, str]:
    return JSON | {
        "connector.class": "HttpSink",
        "topics": topic,
        "http.url": f"{url}/in",
        "http.batch.size": "30",
        **dead_letters(letters),
    }


def _data_source(topic: str, commits: Path) -> dict[str, str]:
    return JSON | {
        "connector.class": "DataSource",
        "tasks.max": "2",
        "topic": topic,
        "data.source": NUMBERS,
        "data.source.option.total": "1000",
        "data.source.option.step": "300",
        "data.source.option.commits": str(commits),
        "data.source.threads": "2",
    }


def _offset(connect: Connect, name: str, expected: dict[str, Any] | None) -> dict[str, Any]:
    """The connector's only offset, once it has one, and that one if it is given."""
    wait_until(
        lambda: any(expected is None or entry["offset"] == expected for entry in connect.offsets(name)),
        20, f"the offset of {name}",
    )  # fmt: skip
    return connect.offsets(name)[0]


@pytest.mark.soak
def test_a_batch_reader_is_read_once_and_again_after_a_reset(
    connect: Connect, broker: KafkaBroker, tmp_path: Path
) -> None:
    topic, reads = broker.create_topic(), tmp_path / "reads"
    config = {"data.source": "tests.support.data_sources.Squares", "data.source.mode": "once"}
    options = {"data.source.option.total": "100", "data.source.option.reads": str(reads), "topic": topic}
    connect.create("squares", JSON | {"connector.class": "DataSource", **config, **options})
    assert len(values(broker.bootstrap, topic, 100)) == 100
    wait_until(lambda: '"reads":1' in str(connect.offsets("squares")), 20, "the offset of the read")
    connect.stop("squares")
    connect.ask("DELETE", "/connectors/squares/offsets")
    connect.resume("squares")
    assert len(values(broker.bootstrap, topic, 200)) == 200
    assert reads.read_text() == "read\n" * 2

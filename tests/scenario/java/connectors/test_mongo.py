"""MongoDB's connectors in slots, with a server in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import Connect
from tests.support.java.recipes import recipe
from tests.support.kafka.topics import pairs
from tests.support.servers.mongo import mongo_server
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.soak, pytest.mark.timeout(300)]

_SINK, _SOURCE = (f"com.mongodb.kafka.connect.Mongo{kind}Connector" for kind in ("Sink", "Source"))
_ROWS = 500


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with mongo_server() as url:
        yield url


def test_the_connectors_are_listed_and_validate_their_connection(connect: Connect, server: str) -> None:
    listed = {plugin["class"]: plugin for plugin in connect.ask("GET", "/connector-plugins")}
    assert (listed[_SINK]["type"], listed[_SOURCE]["type"]) == ("sink", "source")
    assert listed[_SINK]["version"] == "2.0.1"
    config = {"connector.class": _SOURCE, "name": "x", "database": "d", "connection.uri": "http://nowhere"}
    found = connect.ask("PUT", f"/connector-plugins/{_SOURCE}/config/validate", config)
    errors = {one["value"]["name"]: one["value"]["errors"] for one in found["configs"]}
    assert found["error_count"] > 0 and errors["connection.uri"], errors
    good = connect.ask("PUT", f"/connector-plugins/{_SOURCE}/config/validate", {**config, "connection.uri": server})
    assert good["error_count"] == 0, [one["value"] for one in good["configs"] if one["value"]["errors"]]


def test_documents_are_written_and_read_again(connect: Connect, broker: KafkaBroker, server: str) -> None:
    topic, sink, source = broker.create_topic(unique("rows")), unique("sink"), unique("source")
    copied = broker.create_topic(f"{source}.shop.items")
    broker.produce(topic, *(json.dumps({"n": number}) for number in range(_ROWS)))
    connect.create(sink, recipe("MongoSinkConnector", **{"topics": topic, "connection.uri": server}))
    connect.wait(sink, "RUNNING", ["RUNNING"])
    wait_until(lambda: [o["offset"]["kafka_offset"] for o in connect.offsets(sink)] == [_ROWS], 40, every=0.3)
    connect.create(source, recipe("MongoSourceConnector", **{"topic.prefix": source, "connection.uri": server}))
    connect.wait(source, "RUNNING", ["RUNNING"])
    wait_until(lambda: len(pairs(broker.bootstrap, copied)) >= _ROWS, 40, every=0.3)
    found = sorted(json.loads(value or b"")["n"] for _, value in pairs(broker.bootstrap, copied))
    assert found == list(range(_ROWS))
    for name in (sink, source):
        connect.ask("DELETE", f"/connectors/{name}")

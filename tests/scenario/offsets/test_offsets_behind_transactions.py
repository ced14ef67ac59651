"""Offsets behind open transactions of other writers (KIP-618), with our worker: requests and starts of tasks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.connect import STRINGS, Connect
from tests.support.kafka import topics, transactions
from tests.support.plugins import PLUGINS
from tests.support.waiting import soon, wait_until
from tests.support.workers import StartWorker


@pytest.fixture(scope="module")
def connect(module_worker: StartWorker) -> Connect:
    return Connect(module_worker({"plugin.path": PLUGINS, "offset.storage.partitions": "1"}))


@contextmanager
def prompt() -> Iterator[None]:
    """Fails if the block takes long; the open transaction would end after a minute."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < 30


@pytest.mark.parametrize("own_topic", [pytest.param(False, marks=pytest.mark.soak), True])
def test_open_transactions_of_another_connector_delay_no_request_and_hide_no_offsets(
    connect: Connect, broker: KafkaBroker, own_topic: bool
) -> None:
    name, topic = unique("src"), broker.create_topic()
    partition = {"counter": topic}
    config = {"connector.class": "headrace_test_plugins.CountingConnector", "topic": topic, **STRINGS}
    offsets_topic = connect.worker.properties["offset.storage.topic"]
    if own_topic:
        offsets_topic = config["offsets.storage.topic"] = broker.create_topic(cleanup_policy="compact")
    held = transactions.open_transaction(broker.bootstrap, offsets_topic, (b'["another",{"n":1}]', b'{"n":1}'))

    connect.create(name, config)
    wait_until(lambda: connect.offsets(name), 60)
    connect.stop(name)
    with prompt():
        (committed,) = connect.offsets(name)
    last = committed["offset"]["n"]
    with prompt():
        connect.alter(name, (partition, {"n": last + 1000}))
    with prompt():
        assert connect.offsets(name) == [{"partition": partition, "offset": {"n": last + 1000}}]
    with prompt():
        connect.resume(name)
    wait_until(lambda: connect.offsets(name)[0]["offset"]["n"] > last + 1000, 60)
    connect.stop(name)
    written = topics.contents(broker.bootstrap, [topic])[topic]
    assert str(last + 1000) in written, "the task started from the altered offset"
    with prompt():
        connect.ask("DELETE", f"/connectors/{name}/offsets")
    assert connect.offsets(name) == []
    held.commit_transaction(20)
    assert connect.offsets(name) == [], "the reader has passed the transaction, and older offsets do not return"


def test_open_transactions_of_the_connector_are_awaited(connect: Connect, broker: KafkaBroker) -> None:
    name, topic = unique("src"), broker.create_topic()
    config = {"connector.class": "headrace_test_plugins.CountingConnector", "topic": topic, **STRINGS}
    connect.create(name, config, initial_state="STOPPED")
    wait_until(lambda: connect.states(name) == ("STOPPED", []))
    offsets_topic = connect.worker.properties["offset.storage.topic"]
    key = b'["%s",{"counter":"%s"}]' % (name.encode(), topic.encode())
    held = transactions.open_transaction(broker.bootstrap, offsets_topic, (key, b'{"n":7}'))
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(connect.offsets, name)
        wait_until(lambda: "waiting for the end of an open transaction" in connect.worker.log.read_text())
        assert not reading.done()
        held.commit_transaction(20)
        assert reading.result(soon(5)) == [{"partition": {"counter": topic}, "offset": {"n": 7}}]

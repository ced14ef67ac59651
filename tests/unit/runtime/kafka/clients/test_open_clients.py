"""Clients are closed by their owners, or by a thread when their owner is gone; never by the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from confluent_kafka import Producer

from runtime.kafka.clients import open_clients
from runtime.kafka.errors import KafkaProblem
from runtime.kafka.positions import Positions
from tests.support.broker import KafkaBroker
from tests.support.kafka.mock_kafka import LIST_OFFSETS, MockKafka
from tests.support.waiting import wait_until
from tui import kafka_clients
from tui.errors import HeadraceError
from tui.offsets.brokers import Brokers

_CLUSTER_AUTHORIZATION_FAILED = 31
_THREADS = 8  # of one client, of asyncio, and the one that closes clients
_NOWHERE = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}


@pytest.fixture(params=[open_clients, kafka_clients], ids=["worker", "console"])
def module(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The module of each half; the test leaves no client open."""
    module: ModuleType = request.param
    _close_earlier(module)
    before = module.count()
    yield module
    wait_until(lambda: module.count() <= before, 10)


def _close_earlier(module: Any) -> None:
    """Waits until the clients whose owners went in earlier tests are closed: they are closed in order."""
    gc.collect()
    admin = module.KeptAdmin(_NOWHERE)
    with admin.use() as client:
        last = weakref.ref(client)
    del client, admin
    wait_until(lambda: last() is None, 10)


@pytest.fixture
def without_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def test_an_admin_client_is_kept_while_a_request_uses_it(module: Any) -> None:
    admin = module.KeptAdmin(_NOWHERE)
    before = module.count()
    with admin.use() as first:
        admin.renew()
        assert module.count() == before + 1
        with admin.use() as second:
            assert first is not second
    assert module.count() == before + 1
    with admin.use() as third:
        assert third is second
    admin.renew()
    assert module.count() == before


def test_the_client_of_an_owner_that_is_gone_is_closed(module: Any) -> None:
    admin = module.KeptAdmin(_NOWHERE)
    with admin.use():
        pass
    del admin  # the fixture waits


def test_a_client_in_a_cycle_is_closed_outside_of_the_collector(module: Any) -> None:
    """As in the traceback of an exception that its own frame refers to."""
    admin = module.KeptAdmin(_NOWHERE)
    with admin.use():
        cycle = [admin]
        cycle.append(cycle)
    del admin, cycle
    collected_by = threading.Thread(target=gc.collect)
    collected_by.start()
    collected_by.join()


@pytest.mark.usefixtures("without_collector")
def test_each_client_is_closed_without_the_collector(module: Any) -> None:
    with module.consumer({**_NOWHERE, "group.id": "g"}) as consumer:
        assert consumer.assignment() == []
    with module.producer(_NOWHERE) as producer:
        producer.produce("t", b"unsent")
    with pytest.raises(RuntimeError):
        consumer.assignment()


@pytest.mark.usefixtures("without_collector")
def test_a_producer_is_freed_when_nothing_refers_to_it() -> None:
    """Its own close() waits without limit for the coordinator of an open transaction."""
    before = len(threading.enumerate())
    producer = open_clients.keep(Producer({**_NOWHERE, "transactional.id": "t"}))
    open_clients.close(producer)
    producer.poll(0)  # not closed under another thread that uses it
    del producer
    assert len(threading.enumerate()) <= before + 1


async def test_refusals_leave_no_client(without_collector: None) -> None:
    """A refused request left a client in a cycle with its exception."""
    broker = MockKafka()
    topic = broker.create_topic()
    broker.refuse(LIST_OFFSETS, *[_CLUSTER_AUTHORIZATION_FAILED] * 20)
    positions, before = Positions({"bootstrap.servers": broker.bootstrap}), open_clients.count()
    threads = _threads()
    for _ in range(20):
        with pytest.raises(KafkaProblem):
            await positions.ends({(topic, 0)})
    assert open_clients.count() <= before + 1
    assert _threads() <= threads + _THREADS


def test_offsets_of_a_topic_that_does_not_exist_do_not_create_it(broker: KafkaBroker) -> None:
    """The broker would create it for a producer, and librdkafka treats an admin client as one."""
    missing, brokers = ("never-created", 0), Brokers(broker.bootstrap, {})
    with pytest.raises(KafkaProblem, match="never-created"):
        asyncio.run(Positions({"bootstrap.servers": broker.bootstrap}).ends([missing]))
    with pytest.raises(HeadraceError, match="leader"):
        brokers.ends([missing])
    later = broker.create_topic(), 0  # the controller creates topics in order
    wait_until(lambda: later in brokers.partitions(lambda topic: True))
    assert missing not in brokers.partitions(lambda topic: True)


def _threads() -> int:
    """Threads of this process, those of librdkafka included."""
    return len(list(Path("/proc/self/task").iterdir()))

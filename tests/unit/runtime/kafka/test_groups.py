"""Consumer group operations on a real broker."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer

from runtime.kafka.errors import BrokerUnavailable, GroupNotEmpty, OffsetsRefused
from runtime.kafka.groups import Groups
from tests.support.broker import EmbeddedBroker, KafkaBroker, unique


@pytest.fixture
def groups(broker: KafkaBroker) -> Groups:
    return Groups({"bootstrap.servers": broker.bootstrap})


@pytest.fixture
def topic(broker: KafkaBroker) -> str:
    return broker.create_topic(partitions=2)


@pytest.fixture
def group() -> str:
    return unique("connect-sink")


@pytest.fixture
def member(broker: KafkaBroker, topic: str, group: str) -> Iterator[Consumer]:
    """A live consumer in the group."""
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": group, "client.id": "connector-consumer-s-0"}
    )
    consumer.subscribe([topic])
    while not consumer.assignment():
        consumer.poll(0.1)
    yield consumer
    consumer.close()


async def test_groups_that_do_not_exist(groups: Groups, topic: str, group: str) -> None:
    assert await groups.committed(group) == {}
    assert await groups.members(group) == []
    await groups.delete(group)
    await groups.delete_offsets(group, [(topic, 0)])
    await groups.evict(group, {"nobody"})


async def test_offsets_are_set_removed_and_deleted(groups: Groups, topic: str, group: str) -> None:
    await groups.alter(group, {(topic, 0): 5, (topic, 1): 7})
    await groups.alter(group, {(topic, 0): 6})
    assert await groups.committed(group) == {(topic, 0): 6, (topic, 1): 7}
    await groups.delete_offsets(group, [(topic, 0)])
    await groups.delete_offsets(group, [(topic, 0)])
    assert await groups.committed(group) == {(topic, 1): 7}
    await groups.delete(group)
    await groups.delete(group)
    assert await groups.committed(group) == {}


async def test_refusals_name_the_partitions(groups: Groups, topic: str, group: str) -> None:
    with pytest.raises(OffsetsRefused) as e:
        await groups.alter(group, {(topic, 0): 5, (topic, 9): 1, ("no-such", 0): 1})
    assert set(e.value.partitions) == {(topic, 9), ("no-such", 0)}
    with pytest.raises(OffsetsRefused) as e:
        await groups.alter(group, {(topic, 0): -5, (topic, -1): 1})
    assert set(e.value.partitions) == {(topic, 0), (topic, -1)}
    await groups.check_partitions([(topic, 0), (topic, 1)])
    with pytest.raises(OffsetsRefused) as e:
        await groups.check_partitions([(topic, 0), (topic, 2), ("no-such", 0)])
    assert set(e.value.partitions) == {(topic, 2), ("no-such", 0)}


async def test_a_live_member_protects_its_group(groups: Groups, topic: str, group: str, member: Consumer) -> None:
    await_refused = (
        groups.alter(group, {(topic, 0): 5}),
        groups.delete_offsets(group, [(topic, 0)]),
        groups.delete(group),
    )
    for request in await_refused:
        with pytest.raises(GroupNotEmpty, match=group):
            await request


async def test_members_are_evicted(groups: Groups, topic: str, group: str, member: Consumer) -> None:
    (found,) = await groups.members(group)
    assert (found.member_id, found.client_id) == (member.memberid(), "connector-consumer-s-0")
    await groups.evict(group, {found.member_id})
    assert await groups.members(group) == []
    await groups.alter(group, {(topic, 0): 5})


@pytest.mark.slow
async def test_a_cluster_that_never_had_a_group(own_broker: EmbeddedBroker, group: str) -> None:
    """The first request creates the coordinator; librdkafka's own request crashed the process in this case."""
    groups = Groups({"bootstrap.servers": own_broker.bootstrap})
    assert await groups.committed(group) == {}
    own_broker.kill()
    await asyncio.to_thread(own_broker.start)
    topic = own_broker.create_topic()
    await groups.alter(group, {(topic, 0): 3})
    assert await groups.committed(group) == {(topic, 0): 3}


async def test_a_server_that_does_not_respond_leaves_time_for_the_others(broker: KafkaBroker, group: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = f"{silent.getsockname()[0]}:{silent.getsockname()[1]},{broker.bootstrap}"
        groups = Groups({"bootstrap.servers": servers}, timeout=6.0)
        for _ in range(8):
            assert await groups.committed(group) == {}


async def test_an_address_that_does_not_respond_leaves_time_for_the_others_of_its_host(
    broker: KafkaBroker, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host, port = broker.bootstrap.split(":")
    looked_up = socket.getaddrinfo

    def addresses(name: str, *args: Any) -> list[Any]:
        hosts = ("127.0.0.2", host) if name == "brokers.test" else (name,)
        return [address for each in hosts for address in looked_up(each, *args)]

    with socket.create_server(("127.0.0.2", int(port))):
        monkeypatch.setattr("kafka.net.inet.socket.getaddrinfo", addresses)
        groups = Groups({"bootstrap.servers": f"brokers.test:{port}"}, timeout=6.0)
        for _ in range(3):
            assert await groups.committed(group) == {}


async def test_an_unreachable_broker_raises_broker_unavailable(group: str) -> None:
    groups = Groups({"bootstrap.servers": "127.0.0.1:1"}, timeout=1.0)
    for request in (groups.committed(group), groups.members(group), groups.check_partitions([("t", 0)])):
        with pytest.raises(BrokerUnavailable):
            await asyncio.wait_for(request, 20)

"""The transactional writer on a real broker."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from runtime.kafka.clients import open_clients
from runtime.kafka.errors import BrokerUnavailable, KafkaProblem, WriterFenced
from runtime.kafka.fencing import fence
from runtime.kafka.log.transactional_writer import TransactionalWriter
from tests.support.broker import KafkaBroker, unique
from tests.support.kafka.topics import pairs
from tests.unit.runtime.kafka.test_fencing import producer_in_transaction


def writer_on(broker: KafkaBroker, transactional_id: str) -> TransactionalWriter:
    return TransactionalWriter({"bootstrap.servers": broker.bootstrap}, transactional_id)


async def test_the_records_of_a_write_are_committed_when_it_returns(broker: KafkaBroker) -> None:
    topic, writer = broker.create_topic(partitions=1), writer_on(broker, unique("leader"))
    await writer.start(topic)
    assert await writer.write(topic, [(b"a", b"1"), (b"b", None)]) == [(0, 0), (0, 1)]
    assert await writer.write(topic, [(b"a", b"2")]) == [(0, 3)]
    assert pairs(broker.bootstrap, topic) == [(b"a", b"1"), (b"b", None), (b"a", b"2")]
    await writer.stop()


async def test_a_successor_fences_the_writer_and_aborts_what_a_killed_one_left(broker: KafkaBroker) -> None:
    topic, transactional_id = broker.create_topic(), unique("leader")
    producer_in_transaction(broker, transactional_id, topic)
    former, successor = writer_on(broker, transactional_id), writer_on(broker, transactional_id)
    stopped: list[str] = []
    former.subscribe(lambda: stopped.append("former"))
    await former.start(topic)
    assert await former.write(topic, [(b"k", b"former")]) == [(0, 2)]  # after the aborted record and its marker
    await successor.start(topic)
    with pytest.raises(WriterFenced, match=f"another producer has taken over the transactional id {transactional_id}"):
        await former.write(topic, [(b"k", b"late")])
    assert (former.started, stopped) == (False, ["former"])
    with pytest.raises(WriterFenced):
        await former.write(topic, [(b"k", b"later")])
    assert stopped == ["former"]
    await successor.write(topic, [(b"k", b"successor")])
    assert [value for _, value in pairs(broker.bootstrap, topic)] == [b"former", b"successor"]

    await fence({"bootstrap.servers": broker.bootstrap}, [transactional_id])
    with pytest.raises(WriterFenced):
        await successor.write(topic, [(b"k", b"late")])
    await successor.start(topic)
    await successor.write(topic, [(b"k", b"again")])
    await successor.stop()


async def test_a_refused_record_leaves_nothing_of_its_transaction_and_the_writer_started(broker: KafkaBroker) -> None:
    small, topic = broker.create_topic(max_message_bytes="500"), broker.create_topic()
    writer = writer_on(broker, unique("leader"))
    await writer.start(topic)
    for too_large in (b"x" * 1_000, b"x" * 2_000_000):  # refused by the broker, and by the client
        with pytest.raises(KafkaProblem, match=rf"A record of {len(too_large) + 1:,} bytes for topic .* is too large"):
            await writer.write(small, [(b"a", b"1"), (b"b", too_large)])
    assert writer.started
    await writer.write(topic, [(b"a", b"1")])
    assert pairs(broker.bootstrap, topic) == [(b"a", b"1")]
    await writer.stop()


async def test_a_broker_that_does_not_answer() -> None:
    writer = TransactionalWriter({"bootstrap.servers": "127.0.0.1:1"}, "t", 1)
    with pytest.raises(BrokerUnavailable, match="Kafka did not confirm the transactional id t"):
        await writer.start("topic")
    await writer.stop()


async def test_a_former_leader_whose_start_waits_for_its_turn_does_not_fence_its_successor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writer, opened = TransactionalWriter({"bootstrap.servers": "127.0.0.1:1"}, "t"), list[Any]()
    monkeypatch.setattr(open_clients, "opened", lambda *args: opened.append(args))
    turn, may_end = threading.Event(), threading.Event()

    def write() -> None:
        turn.set()
        may_end.wait(30)

    writing = asyncio.create_task(writer._in_turn(write))  # of the last term
    await asyncio.to_thread(turn.wait, 30)
    starting = asyncio.create_task(writer.start("topic"))
    await asyncio.sleep(0)
    writer.revoke()
    may_end.set()
    await writing
    with pytest.raises(WriterFenced, match="transactional id t is not in use by this worker"):
        await starting
    assert (opened, writer.started) == ([], False)

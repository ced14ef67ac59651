"""One worker's membership on a real broker."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace

import pytest
from confluent_kafka import Consumer

from runtime.kafka.errors import GroupOccupied
from runtime.kafka.group.group_member import Times
from runtime.kafka.groups import Groups
from runtime.system.lease_clock import lease_time
from tests.support.broker import EmbeddedBroker, KafkaBroker, unique
from tests.support.herder.group_members import Participant
from tests.support.kafka.faulty_broker import FaultyBroker
from tests.support.servers.forwarder import Forwarder
from tests.support.waiting import until
from tests.support.workers import WorkerProcess

Make = Callable[..., Participant]
QUICK = Times(session_timeout=6.0, heartbeat_interval=0.3)

_OTHER = """
import asyncio, sys
from runtime.kafka.group.group_member import Times
from tests.support.herder.group_members import Participant

async def main():
    times = Times(session_timeout=60.0)
    await Participant({"bootstrap.servers": sys.argv[1]}, sys.argv[2], "http://other:8083/", times=times).join()
    print("joined", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def group() -> str:
    return unique("workers")


@pytest.fixture
async def member(broker: KafkaBroker, group: str) -> AsyncIterator[Make]:
    """Creates members of the group, which leave at the end."""
    made: list[Participant] = []

    def make(bootstrap: str = broker.bootstrap, times: Times = QUICK) -> Participant:
        made.append(Participant({"bootstrap.servers": bootstrap}, group, times=times))
        return made[-1]

    yield make
    await asyncio.gather(*(m.leave() for m in made))


@pytest.fixture
def other(broker: KafkaBroker, group: str) -> Iterator[subprocess.Popen[bytes]]:
    """The process of another worker in the group."""
    process = subprocess.Popen([sys.executable, "-c", _OTHER, broker.bootstrap, group], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"joined\n"
    yield process
    process.kill()
    process.wait()


async def test_a_member_joins_is_confirmed_and_leaves(member: Make, broker: KafkaBroker, group: str) -> None:
    one = member(times=Times())
    assert one.confirmed_until == 0.0
    place = await one.join()
    assert place.leads
    assert place.generation > 0
    assert time.monotonic() < one.confirmed_until <= time.monotonic() + 10
    groups = Groups({"bootstrap.servers": broker.bootstrap})
    (found,) = await groups.members(group)
    assert found.member_id == place.member_id
    await one.leave()
    assert one.confirmed_until == 0.0
    assert await groups.members(group) == []


async def test_heartbeats_confirm_the_membership(member: Make) -> None:
    one = member()
    await one.join()
    first = one.confirmed_until
    await until(lambda: one.confirmed_until > first + 0.5)


async def test_a_killed_worker_is_removed(member: Make, other: subprocess.Popen[bytes]) -> None:
    """The killed process is a zombie, since its parent has not waited for it."""
    other.kill()
    started = time.monotonic()
    await member().join()
    assert time.monotonic() - started < 30  # its session timeout is 60 s


async def test_an_evicted_worker_joins_again(member: Make, broker: KafkaBroker, group: str) -> None:
    one = member()
    place = await one.join()
    await Groups({"bootstrap.servers": broker.bootstrap}).evict(group, {place.member_id})
    await until(lambda: one.place is not None and one.place.member_id != place.member_id)
    assert one.losses == 1
    assert one.confirmed_at_losses == [0.0], "reported once, after the confirmation has ended"


async def test_a_group_of_consumers_is_refused(member: Make, broker: KafkaBroker, topic: str, group: str) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    consumer.subscribe([topic])
    while not consumer.assignment():
        consumer.poll(0.1)
    with pytest.raises(GroupOccupied, match="consumer"):
        await member().join()
    consumer.close()


@pytest.mark.slow
async def test_java_workers_are_refused(java_connect: WorkerProcess, broker: KafkaBroker) -> None:
    group = java_connect.properties["group.id"]
    one = Participant({"bootstrap.servers": broker.bootstrap}, group, foreign_refusal="stop them")
    with pytest.raises(GroupOccupied, match=r"Apache Kafka Connect are alive in group\.id=.*: stop them"):
        await one.join()
    await one.leave()


@pytest.mark.slow
async def test_only_the_confirmation_expires_in_an_outage(member: Make, own_broker: EmbeddedBroker) -> None:
    one = member(own_broker.bootstrap)
    await one.join()
    own_broker.kill()
    await until(lambda: one.confirmed_until < time.monotonic())
    await asyncio.to_thread(own_broker.start)
    await until(lambda: one.confirmed_until > time.monotonic())


async def test_joining_waits_for_an_unavailable_broker() -> None:
    one = Participant({"bootstrap.servers": "127.0.0.1:1"}, "g")
    joining = asyncio.create_task(one.join())
    await asyncio.sleep(0)
    await one.leave()
    joining.cancel()


async def test_unusable_keys_end_the_joining() -> None:
    """If the thread died, the worker would wait for its group forever."""
    settings = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SSL", "ssl.ca.pem": "no certificate"}
    one = Participant(settings, "g")
    with pytest.raises(GroupOccupied, match="stores of the Kafka clients cannot be used"):
        await asyncio.wait_for(one.join(), 30)
    await one.leave()


async def test_a_client_that_cannot_be_imported_ends_the_membership(
    member: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the worker would wait for its group for ever."""
    monkeypatch.setitem(sys.modules, "runtime.kafka.group.group_coordinator", None)
    with pytest.raises(GroupOccupied, match=r"membership in group .* ended: import of"):
        await asyncio.wait_for(member().join(), 20.0)


async def test_a_member_finds_brokers_that_have_moved_to_other_addresses(broker: KafkaBroker, group: str) -> None:
    """All of them, as after a change of advertised.listeners: the bootstrap server is in front of them."""
    brokers = FaultyBroker(broker.bootstrap)
    before, after = brokers.listen(), brokers.listen()
    async with Forwarder(f"http://127.0.0.1:{before}") as bootstrap:
        times = replace(QUICK, rebootstrap=0.5)
        moved = Participant({"bootstrap.servers": f"127.0.0.1:{bootstrap.port}"}, group, times=times)
        await asyncio.wait_for(moved.join(), 20)
        await asyncio.to_thread(brokers.unlisten, before)
        bootstrap.leads_to(f"http://127.0.0.1:{after}")
        left_at = lease_time()
        await until(lambda: moved.confirmed_until - QUICK.session_timeout > left_at)
        await moved.leave()
    await asyncio.to_thread(brokers.close)

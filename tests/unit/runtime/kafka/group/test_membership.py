"""Membership in the worker group on a real broker."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from runtime.kafka.errors import GroupOccupied
from runtime.kafka.group.membership import Membership
from runtime.kafka.group.process_identity import is_gone, own_identity
from runtime.kafka.groups import Groups
from tests.support.broker import EmbeddedBroker, KafkaBroker, unique
from tests.support.workers import WorkerProcess

Make = Callable[..., Membership]

_OTHER = """
import asyncio, sys
from runtime.kafka.group.membership import Membership

async def main():
    member = Membership({"bootstrap.servers": sys.argv[1]}, sys.argv[2], "http://other:8083/", print)
    await member.join()
    print("joined", flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def group() -> str:
    return unique("workers")


@pytest.fixture
async def member(broker: KafkaBroker, group: str) -> AsyncIterator[Make]:
    """Makes members of the group, which leave it at the end. Their losses are recorded in `lost`."""
    made: list[Membership] = []

    def make(name: str, bootstrap: str = broker.bootstrap, **times: float) -> Membership:
        lost: list[str] = []
        made.append(Membership({"bootstrap.servers": bootstrap}, group, f"http://{name}/", lost.append, **times))
        made[-1].lost = lost  # type: ignore[attr-defined]
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


async def test_joins_is_confirmed_and_leaves(member: Make, broker: KafkaBroker, group: str) -> None:
    one = member("one")
    assert one.confirmed_until == 0.0
    joined = await one.join()
    assert joined == one.joined
    assert joined.generation > 0
    assert time.monotonic() < one.confirmed_until <= time.monotonic() + 10
    groups = Groups({"bootstrap.servers": broker.bootstrap})
    (found,) = await groups.members(group)
    assert found.member_id == joined.member_id
    await one.leave()
    assert one.confirmed_until == 0.0
    assert await groups.members(group) == []


async def test_heartbeats_confirm(member: Make) -> None:
    one = member("one", session_timeout=6.0, heartbeat=0.3)
    await one.join()
    first = one.confirmed_until
    await _until(lambda: one.confirmed_until > first + 0.5)


async def test_second_worker_is_refused_at_once_and_the_first_is_not_disturbed(member: Make) -> None:
    one, two = member("one:8083"), member("two")
    joined = await one.join()
    with pytest.raises(GroupOccupied, match="http://one:8083/"):
        await two.join()
    assert one.joined == joined
    assert one.confirmed_until > time.monotonic()


async def test_second_worker_on_another_machine_is_refused_by_the_leader(
    member: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second worker cannot check whether the first one is alive, so it has to join."""
    one = member("one:8083", heartbeat=0.3, session_timeout=6.0)
    joined = await one.join()
    monkeypatch.setattr("runtime.kafka.group.process_identity._machine", lambda: "elsewhere")
    with pytest.raises(GroupOccupied, match="http://one:8083/"):
        await member("two").join()
    await _until(lambda: one.joined is not None and one.joined.generation > joined.generation)
    assert one.joined is not None
    assert one.joined.member_id == joined.member_id
    assert one.confirmed_until > time.monotonic()
    assert one.lost == []  # type: ignore[attr-defined]


async def test_killed_worker_is_removed(member: Make, other: subprocess.Popen[bytes]) -> None:
    """The killed process is a zombie, since its parent has not waited for it."""
    other.kill()
    started = time.monotonic()
    await member("one").join()
    assert time.monotonic() - started < 5  # its session timeout is 10 s


async def test_live_worker_of_another_process_is_not_removed(member: Make, other: subprocess.Popen[bytes]) -> None:
    with pytest.raises(GroupOccupied, match="http://other:8083/"):
        await member("one").join()


async def test_an_evicted_worker_rejoins_and_a_replaced_one_is_notified(
    member: Make, broker: KafkaBroker, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = member("one", heartbeat=0.3, session_timeout=6.0)
    joined = await one.join()
    groups = Groups({"bootstrap.servers": broker.bootstrap})
    await groups.evict(group, {joined.member_id})
    await _until(lambda: one.joined is not None and one.joined.member_id != joined.member_id)
    assert one.joined is not None
    assert one.lost == []  # type: ignore[attr-defined]


async def test_group_of_consumers_is_refused(member: Make, broker: KafkaBroker, group: str) -> None:
    topic = broker.create_topic()
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    consumer.subscribe([topic])
    while not consumer.assignment():
        consumer.poll(0.1)
    with pytest.raises(GroupOccupied, match="consumer"):
        await member("one").join()
    consumer.close()


@pytest.mark.slow
async def test_java_workers_are_refused(java_connect: WorkerProcess, broker: KafkaBroker) -> None:
    group = java_connect.properties["group.id"]
    one = Membership({"bootstrap.servers": broker.bootstrap}, group, "http://one/", lambda reason: None)
    with pytest.raises(GroupOccupied, match=r"Apache Kafka Connect are alive in group\.id="):
        await one.join()
    await one.leave()


@pytest.mark.slow
async def test_only_the_confirmation_expires_in_an_outage(member: Make, own_broker: EmbeddedBroker) -> None:
    one = member("one", bootstrap=own_broker.bootstrap, session_timeout=6.0, heartbeat=0.5)
    await one.join()
    own_broker.kill()
    await _until(lambda: one.confirmed_until < time.monotonic())
    await asyncio.to_thread(own_broker.start)
    await _until(lambda: one.confirmed_until > time.monotonic())
    assert one.lost == []  # type: ignore[attr-defined]


async def test_start_waits_for_an_unavailable_broker(caplog: pytest.LogCaptureFixture) -> None:
    one = Membership({"bootstrap.servers": "127.0.0.1:1"}, "g", "http://one/", lambda reason: None)
    joining = asyncio.create_task(one.join())
    await asyncio.sleep(0)
    await one.leave()
    joining.cancel()


def test_identity() -> None:
    own = own_identity()
    assert not is_gone(own)
    assert not is_gone({})
    assert not is_gone({**own, "machine": "elsewhere", "pid": 2**22 + 1})
    assert is_gone({**own, "pid": 2**22 + 1})
    if Path("/proc/self/stat").exists():
        assert is_gone({**own, "started": "1"})


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_unusable_keys_end_the_joining() -> None:
    """If the thread died, the worker would wait for its group without end."""
    settings = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SSL", "ssl.ca.pem": "no certificate"}
    place = Membership(settings, "g", "http://127.0.0.1:1/", lambda reason: None)
    with pytest.raises(GroupOccupied, match="stores of the Kafka clients cannot be used"):
        await asyncio.wait_for(place.join(), 10)
    await place.leave()

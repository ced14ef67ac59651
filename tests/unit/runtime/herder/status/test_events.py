"""The event log: ids, resuming, falling behind."""

import asyncio
import contextlib

from runtime.herder.status import events
from runtime.herder.status.events import EventLog


async def collect(log: EventLog, after: int, n: int) -> list[str]:
    out: list[str] = []
    async with asyncio.timeout(30):
        async for event in log.follow(after, 1):
            if event is not None:
                out.append(str(event.data["n"]))
            if len(out) == n:
                break
    return out


async def test_followers_receive_earlier_and_later_events() -> None:
    log = EventLog()
    log.publish("notice", {"n": "a"})
    follower = asyncio.create_task(collect(log, 0, 3))
    await asyncio.sleep(0)
    log.publish("notice", {"n": "b"})
    await asyncio.sleep(0)
    log.publish("notice", {"n": "c"})
    assert await follower == ["a", "b", "c"]


def test_ids_of_another_boot_or_from_the_future_need_a_snapshot() -> None:
    log = EventLog()
    log.publish("notice", {"n": "a"})
    assert log.resume_point(log.id(1)) == 1
    assert log.resume_point(log.id(0)) == 0
    assert log.resume_point(log.id(2)) is None
    assert log.resume_point("other.1") is None
    assert log.resume_point(f"{log.boot}.x") is None
    assert log.resume_point(None) is None


async def test_a_follower_that_falls_behind_is_ended() -> None:
    log = EventLog()
    for _ in range(events.MAX_EVENTS + 5):
        log.publish("notice", {"n": "x"})
    assert log.resume_point(log.id(1)) is None
    assert [e async for e in log.follow(0, 0.01)] == []


async def test_events_that_were_replaced_are_not_missing() -> None:
    log = EventLog()
    for _ in range(3):
        log.publish_latest("connector", {"name": "a", "n": "a"})
    log.publish_latest("connector", {"name": "b", "n": "b"})
    assert await collect(log, 0, 2) == ["a", "b"]
    assert log.resume_point(log.id(1)) == 1


async def test_closing_ends_every_follower() -> None:
    log = EventLog()
    follower = asyncio.create_task(collect(log, 0, 1))
    await asyncio.sleep(0)
    log.close()
    with contextlib.suppress(asyncio.CancelledError):
        assert await asyncio.wait_for(follower, 2) == []


async def test_idle_followers_are_notified() -> None:
    log = EventLog()
    async for event in log.follow(0, 0.01):
        assert event is None
        break

"""Tasks of lost remote slots wait until the processes of these slots have certainly ended."""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

from runtime.engine.placement.remote_lease import GRACE, RemoteLease
from runtime.engine.placement.slot_link import RemoteProcess, SlotLink
from runtime.engine.worker.slot_watch import LostLinks
from tests.support.engine.engine_recorder import DiscardingWriter
from tests.support.waiting import until

LEASE = 0.3


def remote_link(slot: int, attempt: int = 1, promised: bool = True) -> SlotLink:
    lease = RemoteLease()
    lease.grant(time.monotonic() + LEASE)
    if promised:
        lease.promise(time.monotonic())
    writer = cast("Any", DiscardingWriter())
    return SlotLink(slot, attempt, 1, RemoteProcess(4711, "elsewhere"), writer, 0.0, cell=lease)


class Lost:
    """Lost links, with the times at which their tasks were released."""

    def __init__(self) -> None:
        self.released: list[tuple[int, str]] = []
        self.links = LostLinks(time.monotonic, lambda link, reason: self.released.append((link.slot, reason)))


async def test_a_link_is_held_until_its_lease_has_ended() -> None:
    lost = Lost()
    started = time.monotonic()
    assert LEASE < lost.links.hold(remote_link(0), "cut") <= LEASE + GRACE
    assert not lost.released
    await lost.links.none_left()
    assert lost.released == [(0, "cut")]
    assert time.monotonic() - started >= LEASE + GRACE - 0.05


async def test_a_slot_that_was_never_promised_a_lease_is_not_held() -> None:
    lost = Lost()
    assert lost.links.hold(remote_link(0, promised=False), "cut") == 0
    assert lost.released == [(0, "cut")]
    await lost.links.none_left()


async def test_the_end_of_the_same_attempt_releases_a_link() -> None:
    lost = Lost()
    links = [remote_link(slot, attempt=2) for slot in (0, 1)]
    for link in links:
        lost.links.hold(link, "cut")
    lost.links.ended(1, 0, 1)
    lost.links.ended(2, 0, 2)
    assert not lost.released
    lost.links.ended(1, 0, 2)
    assert lost.released == [(0, "cut")]
    assert not links[0].process_ended
    waiting = asyncio.create_task(lost.links.none_left())
    await until(lambda: len(lost.released) == 2, 5)
    await asyncio.wait_for(waiting, 1)


async def test_a_revoked_lease_holds_its_promise() -> None:
    lost, link = Lost(), remote_link(0)
    assert isinstance(link.cell, RemoteLease)
    link.cell.revoke()
    assert link.cell.promise(time.monotonic()) == 0
    assert link.lapsed(time.monotonic())
    assert lost.links.hold(link, "cut") > LEASE
    await lost.links.none_left()

"""What is lost with a slot, and who is blamed for it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from runtime.engine.placement.roster import Roster, SlotLink, TaskRun
from runtime.engine.protocol.channel import encode
from runtime.engine.protocol.lease_cell import LeaseCell
from runtime.engine.protocol.settings import EngineSettings
from runtime.engine.worker.server import SlotServer
from runtime.engine.worker.slot_watch import SlotWatch
from runtime.engine.worker.slots import Slots
from tests.support.engine_probe import task_spec

TTL = 6.0


class Rig:
    """One slot that is up, without a driver."""

    def __init__(self, folder: Path) -> None:
        self.now, self.lease = 100.0, 60.0
        self.roster = Roster(slots=1, wait=3.0, clock=lambda: self.now, max_extra_slots=8)
        settings, self.listener = EngineSettings(slots=1, lease_ttl=TTL), Mock()
        self.slots = Slots(settings, self.roster, self.listener, lambda: self.lease, lambda: self.now, Mock(), Mock())
        self.folder = str(folder)
        self.slots.driver = Mock(folder=self.folder, generation=1)

    def up(self) -> SlotLink:
        process = Mock(pid=os.getpid())
        LeaseCell.create(self.folder, 0, process.pid)
        link = SlotLink(0, 1, 1, process, Mock(), self.now)
        assert self.slots.link_up(link)
        return link

    def with_task(self) -> SlotLink:
        link, task = self.up(), TaskRun(task_spec("a"))
        self.roster.tasks[task.spec.id] = task
        link.add(task)
        return link

    @property
    def suspected(self) -> bool:
        return self.roster.suspects.any


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path)


async def test_a_slot_that_dies_by_itself_makes_its_tasks_suspects(rig: Rig) -> None:
    rig.slots.link_down(rig.with_task())
    assert rig.suspected
    rig.listener.task_lost.assert_called_once()


async def test_nobody_is_blamed_for_a_lease_that_ended_though_the_membership_is_back(rig: Rig) -> None:
    link = rig.with_task()
    rig.now += TTL + 0.1
    rig.slots.link_down(link)
    assert not rig.suspected
    rig.listener.task_lost.assert_called_once()


async def test_a_slot_whose_lease_is_over_gets_no_tasks_though_the_membership_is_back(rig: Rig) -> None:
    link = rig.up()
    rig.slots._look_at_lease()
    assert link.leased
    rig.now += TTL + 0.1
    rig.slots._look_at_lease()
    assert not link.leased


async def test_nobody_is_blamed_for_what_the_driver_takes_along(rig: Rig) -> None:
    rig.with_task()
    rig.slots._driver_ended()
    assert not rig.roster.links
    assert not rig.suspected


async def test_slots_are_watched_on_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SlotWatch, "every", 0.001)
    rig = Rig(tmp_path)
    rig.listener.task_lost.side_effect = ValueError("a listener's mistake")
    watching = asyncio.create_task(rig.slots._watch())
    async with asyncio.timeout(5):
        for _ in range(2):
            rig.with_task()
            rig.now += TTL + 0.1
            while rig.roster.links:  # noqa: ASYNC110 - nothing tells when a slot is dropped
                await asyncio.sleep(0.001)
    watching.cancel()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors cannot be counted here")
async def test_a_slot_that_is_turned_away_leaves_no_descriptor(tmp_path: Path) -> None:
    listener, path = Mock(), str(tmp_path / "slots.sock")
    listener.is_slot.return_value, listener.link_up.return_value = True, False
    slots = SlotServer(listener, lambda: 0.0)
    await slots.start(path)

    async def turned_away() -> int:
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(encode({"op": "hello", "generation": 1, "slot": 0, "attempt": 1, "room": None}))
        assert await reader.read() == b""
        writer.close()
        await writer.wait_closed()
        return _open_descriptors()

    before = await turned_away()
    for _ in range(5):
        after = await turned_away()
    await slots.close()
    assert listener.link_up.call_count == 6
    assert after <= before


def _open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))

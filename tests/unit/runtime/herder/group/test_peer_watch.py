"""Workers that have ended are removed from the group; those that live at a wrong address are not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from runtime.herder.group.group import GroupWorkerInfo
from runtime.herder.group.peer_watch import PeerWatch
from runtime.herder.group.worker_group import WorkerGroup
from tests.support.herder.scripted_group import info
from tests.support.waiting import until


class Leader:
    """The group of a leader that watches one worker on another machine."""

    leads, leader_member = True, "me"

    def __init__(self, worker: GroupWorkerInfo) -> None:
        self._worker = worker
        self.evicted: list[str] = []
        self.asked = self.fails_at = 0

    def peers(self) -> Sequence[GroupWorkerInfo]:
        self.asked += 1
        if self.asked == self.fails_at:
            raise ValueError("unexpected")
        return [self._worker]

    async def evict(self, members: Sequence[GroupWorkerInfo]) -> None:
        self.evicted += [worker.worker_id for worker in members]


async def test_only_a_worker_that_was_reachable_is_removed() -> None:
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    elsewhere = info(f"{host}:{port}", process={"machine": "another", "pid": 1, "started": "1"})
    reached, unreachable = Leader(elsewhere), Leader(elsewhere)
    watch = PeerWatch(cast(WorkerGroup, reached))
    await watch.check()
    server.close()
    await server.wait_closed()
    await asyncio.gather(watch.check(), PeerWatch(cast(WorkerGroup, unreachable)).check())
    assert reached.evicted == [elsewhere.worker_id]
    assert unreachable.evicted == [], "it may live, and advertise a wrong address"


async def test_an_unexpected_error_does_not_end_the_checks(caplog: pytest.LogCaptureFixture) -> None:
    leader = Leader(info("127.0.0.1:1"))
    leader.fails_at = 1
    watch = PeerWatch(cast(WorkerGroup, leader), every=0.01)
    watch.start()
    await until(lambda: not (leader.asked < 3))
    watch.close()
    assert "Could not check the other workers" in caplog.text

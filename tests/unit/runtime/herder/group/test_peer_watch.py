"""Workers that have ended are removed from the group; those that live at a wrong address are not."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from runtime.herder.group.group import GroupWorkerInfo
from runtime.herder.group.peer_watch import INTERVAL, PeerWatch
from runtime.herder.group.worker_group import WorkerGroup
from tests.support.herder.scripted_group import info
from tests.support.servers.certificates import make_stores
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


def at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def test_only_a_worker_that_was_reachable_is_removed() -> None:
    server = await asyncio.start_server(at_once, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    elsewhere = info(f"{host}:{port}", process={"machine": "another", "pid": 1, "started": "1"})
    reached, unreachable = Leader(elsewhere), Leader(elsewhere)
    watch = PeerWatch(cast(WorkerGroup, reached))
    await watch.check()
    server.close()
    await server.wait_closed()
    await until(lambda: all(connection.lost for connection in watch._connections.values()))
    await asyncio.gather(watch.check(), PeerWatch(cast(WorkerGroup, unreachable)).check())
    assert reached.evicted == [elsewhere.worker_id]
    assert unreachable.evicted == [], "it may live, and advertise a wrong address"


async def test_the_end_of_a_process_is_noticed_without_a_further_check(tmp_path: Path) -> None:
    """The next regular check would come after a minute."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.servers.rest_server", str(make_stores(tmp_path).pem),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    http, https = json.loads(await process.stdout.readline())
    urls = [f"http://127.0.0.1:{http}", f"https://127.0.0.1:{https}"]
    leaders = [Leader(replace(info("w"), url=url, process={"machine": "another", "pid": 1})) for url in urls]
    watches = [PeerWatch(cast(WorkerGroup, leader), every=60) for leader in leaders]
    for watch in watches:
        watch.start()
    await until(lambda: all(watch._connections for watch in watches))
    process.kill()
    await until(lambda: all(leader.evicted for leader in leaders), within=5)
    for watch in watches:
        watch.close()
    await process.wait()


async def test_a_worker_that_closes_each_connection_at_once_is_not_asked_more_often() -> None:
    accepted = 0

    def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        writer.close()

    async with await asyncio.start_server(count, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        watch = PeerWatch(cast(WorkerGroup, Leader(info(f"{host}:{port}"))), every=60)
        started = time.monotonic()
        watch.start()
        await until(lambda: accepted >= 3)
        assert time.monotonic() - started >= 2 * INTERVAL
        watch.close()


async def test_an_unexpected_error_does_not_end_the_checks(caplog: pytest.LogCaptureFixture) -> None:
    leader = Leader(info("127.0.0.1:1"))
    leader.fails_at = 1
    watch = PeerWatch(cast(WorkerGroup, leader), every=0.01)
    watch.start()
    await until(lambda: not (leader.asked < 3))
    watch.close()
    assert "Could not check the other workers" in caplog.text

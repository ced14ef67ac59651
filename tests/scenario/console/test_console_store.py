"""The console's store with real workers: live updates from Headrace's, polling of Apache's, loss of a worker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.support.broker import KafkaBroker, unique
from tests.support.waiting import allowed
from tests.support.workers import StartWorker, WorkerProcess
from tui.back_off import BackOff
from tui.client.client import Connect
from tui.cluster.snapshot import Diff, LinkState, Snapshot
from tui.cluster.store import ClusterStore, StorePace
from tui.wire.endpoint import Endpoint
from tui.wire.evented import AsyncTransport

QUICK = StorePace(interval=0.2, back_off=BackOff(0.1, 0.5))


class Watch:
    """A running store; `until` waits for its content."""

    def __init__(self, url: str) -> None:
        transport = AsyncTransport(Endpoint(url))
        self.connect = Connect(transport)
        self.store = ClusterStore(self.connect, transport.lines, clock=time.monotonic, pace=QUICK)
        self.store.subscribe(self._hear)
        self._news = asyncio.Event()

    def _hear(self, snapshot: Snapshot, diff: Diff) -> None:
        self._news.set()

    async def until(self, condition: Callable[[Snapshot], bool], within: float = 30.0) -> Snapshot:
        async with asyncio.timeout(allowed(within)):
            while not condition(self.store.snapshot):
                self._news.clear()
                await self._news.wait()
        return self.store.snapshot


@asynccontextmanager
async def watching(url: str) -> AsyncIterator[Watch]:
    watch = Watch(url)
    task = asyncio.create_task(watch.store.run())
    try:
        yield watch
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await watch.connect.close()


async def _life(watch: Watch, topic: str, file: Path) -> None:
    """The states of a connector from creation to deletion, as the store observes them."""
    name = unique("seen")
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": topic, "tasks.max": "1"}
    await watch.connect.create({"name": name, "config": config})
    snapshot = await watch.until(lambda now: name in now.connectors and now.connectors[name].is_in("RUNNING"))
    assert snapshot.connectors[name].cls == "FileStreamSource"
    await watch.connect.stop(name)
    snapshot = await watch.until(lambda now: now.connectors[name].is_in("STOPPED"))
    assert name in snapshot.since, "an observed change has a time"
    await watch.connect.delete(name)
    await watch.until(lambda now: name not in now.connectors)


async def test_the_store_polls_an_apache_worker(
    java_connect: WorkerProcess, broker: KafkaBroker, tmp_path: Path
) -> None:
    async with watching(java_connect.url) as watch:
        await watch.until(lambda now: now.link.state is LinkState.POLLING)
        await _life(watch, broker.create_topic(), tmp_path / "in")


async def test_the_store_is_live_on_our_worker_and_survives_its_restart(
    worker: StartWorker, broker: KafkaBroker, tmp_path: Path
) -> None:
    process = worker()
    async with watching(process.url) as watch:
        await watch.until(lambda now: now.link.state is LinkState.LIVE)
        await _life(watch, broker.create_topic(), tmp_path / "in")
        config = {"connector.class": "FileStreamSource", "file": "/none", "topic": broker.create_topic()}
        await watch.connect.create({"name": "stays", "config": config})
        await watch.until(lambda now: "stays" in now.connectors)

        await asyncio.to_thread(process.kill)
        lost = await watch.until(lambda now: now.link.state is LinkState.LOST)
        assert "stays" in lost.connectors, "the last known connectors remain"
        assert "next try in" in lost.link.text(lost.link.heard_at or 0.0)
        await asyncio.to_thread(process.start)
        back = await watch.until(lambda now: now.link.state is LinkState.LIVE)
        assert "stays" in back.connectors


async def test_an_unreachable_worker_does_not_end_the_store() -> None:
    async with watching("http://127.0.0.1:1") as watch:
        lost = await watch.until(lambda now: now.link.state is LinkState.LOST)
        assert lost.link.heard_at is None
        assert "no response yet" in lost.link.text(0.0)
        with pytest.raises(TimeoutError):
            await watch.until(lambda now: now.link.state is not LinkState.LOST, within=0.5)

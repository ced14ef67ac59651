"""Jobs about a cluster: a bulk action, an outage, and a console that must not change anything."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.console.counted_terminal import job
from tests.support.servers.forwarder import Forwarder
from tests.tui.terminal.jobs.conftest import HERE, JobCluster, select


@pytest.mark.soak
def test_bulk(cluster: JobCluster) -> None:
    names = [f"{cluster.name}-{number}" for number in (1, 2, 3)]
    for name in (cluster.beside, *names):
        cluster.file_source(name)
    for name in (cluster.beside, *names):
        cluster.wait(name, "RUNNING 1/1")
    with job("bulk", *HERE) as terminal:
        terminal.sees(*names)
        select(terminal, cluster)
        terminal.press("b")
        terminal.sees("3 connectors shown by /ord", "p pause")
        terminal.press("p")
        terminal.sees("pause 3 connectors? type 3 to continue", "type the number")
        terminal.press("3", "enter")
        terminal.sees("pause 3 connectors: 3 observed")
    assert [cluster.state(name) for name in names] == ["PAUSED 0/1"] * 3
    assert cluster.state(cluster.beside) == "RUNNING 1/1"


@contextmanager
def forwarded(url: str) -> Iterator[tuple[Forwarder, asyncio.AbstractEventLoop]]:
    """A forwarder to the worker, and the loop of its thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    forwarder = Forwarder(url)
    asyncio.run_coroutine_threadsafe(forwarder.revive(), loop).result(10)
    yield forwarder, loop
    loop.call_soon_threadsafe(forwarder.die)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)


@pytest.mark.soak
def test_outage(cluster: JobCluster) -> None:
    cluster.file_source(cluster.name)
    cluster.wait(cluster.name, "RUNNING 1/1")
    with forwarded(cluster.url) as (worker, loop), job("outage", worker.url) as terminal:
        terminal.sees("● RUNNING")
        loop.call_soon_threadsafe(worker.die)
        terminal.sees("unreachable", "next try in", cluster.name)
        asyncio.run_coroutine_threadsafe(worker.revive(), loop).result(10)
        cluster.request("PUT", f"/connectors/{cluster.name}/pause")
        terminal.press("f5")
        terminal.sees("PAUSED", within=15)
        terminal.until(lambda: "unreachable" not in terminal.text, "the end of the outage")


def test_read_only(cluster: JobCluster) -> None:
    cluster.file_source(cluster.name)
    cluster.wait(cluster.name, "RUNNING 1/1")
    with job("read-only", *HERE, "--read-only") as terminal:
        terminal.sees("● RUNNING", "READ-ONLY")
        terminal.press("p")
        terminal.sees("pause refused: --read-only was given")
    assert cluster.state(cluster.name) == "RUNNING 1/1"

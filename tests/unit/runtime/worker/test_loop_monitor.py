"""Reports of a blocked event loop, and the clock of garbage collections."""

from __future__ import annotations

import asyncio
import gc
import logging
import time

import pytest

from runtime.worker.loop_monitor import CollectionClock, LoopMonitor


def blocks_the_loop() -> None:
    """Blocks the loop with work, not by waiting for a processor."""
    end = time.thread_time() + 0.4
    while time.thread_time() < end:
        pass


async def test_a_blocked_loop_is_reported_with_its_stack(caplog: pytest.LogCaptureFixture) -> None:
    monitor = LoopMonitor()
    monitor.start()
    await asyncio.sleep(0.25)
    blocks_the_loop()
    await asyncio.sleep(0.25)
    monitor.close()
    lines = [record.getMessage() for record in caplog.records]
    assert any("was blocked for" in line and "blocks_the_loop" in line for line in lines), lines
    assert monitor.longest >= 0.2


def test_only_longer_delays_are_reported_in_the_quiet_period(caplog: pytest.LogCaptureFixture) -> None:
    monitor = LoopMonitor()
    with caplog.at_level(logging.WARNING):
        for delay, now in ((0.05, 1.0), (0.2, 2.0), (0.15, 3.0), (0.3, 4.0), (0.2, 15.0)):
            monitor.record_delay(delay, now)
    assert [record.getMessage() for record in caplog.records] == [
        f"The event loop was blocked for {ms} ms" for ms in (200, 300, 200)
    ]


def test_the_time_of_garbage_collections_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    monitor = LoopMonitor()
    with caplog.at_level(logging.WARNING):
        monitor.record_delay(0.2, 1.0, 0.15)
    assert [record.getMessage() for record in caplog.records] == [
        "The event loop was blocked for 200 ms (garbage collection took 150 ms)"
    ]


def test_the_clock_counts_collections_until_it_is_closed() -> None:
    clock = CollectionClock()
    clock.start()
    gc.collect()
    counted = clock.total
    clock.close()
    gc.collect()
    assert 0 < counted == clock.total

"""The limit on concurrent starts of connectors."""

from __future__ import annotations

import asyncio

import pytest

from runtime.herder.control.start_control import StartGate
from tests.support.waiting import until


class Starts:
    """Starts that run until the test finishes them."""

    def __init__(self, gate: StartGate, count: int) -> None:
        self.running: set[int] = set()
        self._finish = [asyncio.Event() for _ in range(count)]
        self.tasks = [asyncio.create_task(self._start(gate, number)) for number in range(count)]

    async def _start(self, gate: StartGate, number: int) -> None:
        async with gate.admitted():
            self.running.add(number)
            await self._finish[number].wait()
        self.running.discard(number)

    async def finish(self, number: int) -> None:
        self._finish[number].set()
        await asyncio.sleep(0.01)

    async def end(self) -> None:
        for event in self._finish:
            event.set()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def test_starts_beyond_the_limit_wait_in_order() -> None:
    starts = Starts(StartGate(max_starting=2, slow_start=60), 4)
    await asyncio.sleep(0.01)
    assert starts.running == {0, 1}
    await starts.finish(1)
    assert starts.running == {0, 2}
    await starts.finish(0)
    assert starts.running == {2, 3}
    await starts.end()


async def test_a_hanging_start_frees_its_place_once() -> None:
    starts = Starts(StartGate(max_starting=1, slow_start=0.3), 3)
    await asyncio.sleep(0.01)
    assert starts.running == {0}
    await until(lambda: not (1 not in starts.running))
    await starts.finish(0)
    assert starts.running == {1}, "the place of the hanging start was already released"
    await starts.end()


async def test_a_start_cancelled_while_waiting_keeps_no_place() -> None:
    starts = Starts(StartGate(max_starting=1, slow_start=60), 3)
    await asyncio.sleep(0.01)
    starts.tasks[1].cancel()
    await starts.finish(0)
    assert starts.running == {2}
    await starts.end()


async def test_starts_that_wait_for_long_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    starts = Starts(StartGate(max_starting=2, slow_start=60, long_wait=0.05), 5)
    await until(lambda: caplog.records)
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("3 connectors are waiting to be started: this machine is too busy")
    await starts.end()


async def test_starts_that_wait_briefly_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    gate = StartGate(max_starting=1, slow_start=60, long_wait=0.05)
    starts = Starts(gate, 3)
    await asyncio.sleep(0)
    assert gate.waiting == 2
    await starts.end()
    await asyncio.sleep(0.1)
    assert gate.waiting == 0
    assert not caplog.records

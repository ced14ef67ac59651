"""The limit on concurrent starts of connectors."""

from __future__ import annotations

import asyncio

from runtime.herder.control.start_gate import StartGate


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
    starts = Starts(StartGate(max_starting=1, slow_start=0.02), 3)
    await asyncio.sleep(0.01)
    assert starts.running == {0}
    while 1 not in starts.running:  # noqa: ASYNC110 - no event signals that a start runs
        await asyncio.sleep(0.005)
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

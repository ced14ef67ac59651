"""Calls from other threads to the event loop: in order, one wake-up for many, and a limit on the work in one turn."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

from runtime.kafka.log.inbox import MAX_CALLS, LoopInbox


class CountingLoop:
    """The running loop, with a count of the wake-ups from other threads."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.wake_ups = 0
        self.call_soon = self._loop.call_soon
        self.call_exception_handler = self._loop.call_exception_handler

    def call_soon_threadsafe(self, call: Callable[..., object]) -> Any:
        self.wake_ups += 1
        return self._loop.call_soon_threadsafe(call)


def in_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


async def test_thousands_of_calls_cause_one_wake_up_and_keep_their_order() -> None:
    loop = CountingLoop()
    inbox, seen = LoopInbox(loop), list[int]()  # type: ignore[arg-type]

    def post_all() -> None:
        for n in range(5000):
            inbox.post(seen.append, n)

    in_thread(post_all)
    assert loop.wake_ups == 1
    await inbox.drained()
    assert seen == list(range(5000))


async def test_the_loop_serves_others_after_a_limited_number_of_calls() -> None:
    inbox, seen = LoopInbox(asyncio.get_running_loop(), clock=lambda: 0.0), list[int]()
    for n in range(3 * MAX_CALLS):
        inbox.post(seen.append, n)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert 0 < len(seen) <= 2 * MAX_CALLS
    await inbox.drained()
    assert len(seen) == 3 * MAX_CALLS


async def test_the_loop_serves_others_after_slow_calls() -> None:
    inbox, turns = LoopInbox(asyncio.get_running_loop()), list[float]()
    for _ in range(20):
        inbox.post(time.sleep, 0.02)
    draining = asyncio.create_task(inbox.drained())
    while not draining.done():
        started = time.monotonic()
        await asyncio.sleep(0)
        turns.append(time.monotonic() - started)
    assert len(turns) >= 20, "each turn of the loop serves one slow call"


async def test_a_call_that_raises_is_reported_and_the_next_one_runs() -> None:
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
    inbox, seen = LoopInbox(asyncio.get_running_loop()), list[str]()
    inbox.post(int, "x")
    inbox.post(seen.append, "next")
    await inbox.drained()
    assert seen == ["next"]
    assert isinstance(reported[0], ValueError)


def test_calls_after_the_loops_end_are_ignored() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    LoopInbox(loop).post(print, "never")

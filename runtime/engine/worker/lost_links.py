"""Slots on other machines whose connections are lost: their tasks wait until their processes have certainly ended.

A lost connection proves nothing about a process on another machine: a network may fail, and a process may be stopped
and continue. It has ended when Spark says so, or when its lease has ended.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from runtime.engine.placement.roster import SlotLink

Lose = Callable[[SlotLink, str], None]


class LostLinks:
    """Event loop only."""

    def __init__(self, clock: Callable[[], float], lose: Lose) -> None:
        """`lose` is called with each link, and the reason of its loss, when its tasks may start elsewhere."""
        self._clock, self._lose = clock, lose
        self._held: dict[SlotLink, tuple[str, asyncio.TimerHandle]] = {}
        self._none_left = asyncio.Event()
        self._none_left.set()

    def hold(self, link: SlotLink, reason: str) -> float:
        """Wait for the end of a slot's process. Returns the longest time in seconds; 0: its tasks are free already."""
        seconds = link.free_from - self._clock()
        if seconds <= 0:
            self._lose(link, reason)
            return 0.0
        self._held[link] = reason, asyncio.get_running_loop().call_later(seconds, self._release, link)
        self._none_left.clear()
        return seconds

    def ended(self, generation: int, slot: int, attempt: int) -> None:
        """Spark has reported the end of a slot's process. One that was cut off has ended with its lease: no task is at
        fault."""
        for link in [held for held in self._held if held.is_attempt(generation, slot, attempt)]:
            link.process_ended = link.hung_up
            self._release(link)

    async def none_left(self) -> None:
        """Wait until the processes of all lost slots have ended."""
        await self._none_left.wait()

    def _release(self, link: SlotLink) -> None:
        reason, timer = self._held.pop(link)
        timer.cancel()
        if not self._held:
            self._none_left.set()
        self._lose(link, reason)

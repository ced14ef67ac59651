"""Keeps the worker's event loop responsive: garbage collections are short, and stacks that block it are reported."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
import threading
import time
import traceback
from typing import Final

from runtime.system.scheduling import wait_of

# Garbage collection of the worker's process: makes full collections rare, and measures the time of collections.
#
# With thousands of connectors a full collection blocks the event loop for more than 100 ms. Reference counting frees
# almost all objects; the collector is needed only for cycles.
THRESHOLDS: Final = (20_000, 20, 50)
"""Allocations before a young collection, young collections before a middle collection, and middle collections before a
full collection."""


def tune() -> None:
    """Exclude all objects created during startup from collections, and collect less often."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)


class CollectionClock:
    """Adds up the seconds that collections take, in any thread: each collection holds the interpreter."""

    def __init__(self) -> None:
        self.total = 0.0
        self._started = 0.0

    def start(self) -> None:
        gc.callbacks.append(self._measure)

    def close(self) -> None:
        gc.callbacks.remove(self._measure)

    def _measure(self, phase: str, _: dict[str, int]) -> None:
        if phase == "start":
            self._started = time.monotonic()
        elif self._started:
            self.total += time.monotonic() - self._started


INTERVAL = 0.1  # seconds between two ticks of the timer
THRESHOLD = 0.1  # seconds; longer delays are reported
QUIET_PERIOD = 10.0  # seconds after a report in which only a longer delay is reported
_FRAMES = 8  # frames of the stack, innermost last

_log = logging.getLogger(__name__)


class LoopMonitor:
    """Measures the delay of a timer on the event loop. While the timer is late, a thread records the loop's stack."""

    def __init__(self) -> None:
        self._due = 0.0
        self._thread = self._thread_id = 0
        self._waited = self._collected = 0.0
        self._collections = CollectionClock()
        self._stack: list[traceback.FrameSummary] = []
        self._closing = threading.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._reported_until, self._reported = 0.0, 0.0
        self.longest = 0.0
        """The longest delay so far, in seconds."""

    def start(self) -> None:
        """Start to monitor the event loop on which this is called."""
        self._thread, self._thread_id = threading.get_ident(), threading.get_native_id()
        self._collections.start()
        self._tick()
        threading.Thread(target=self._watch, name="loop-monitor", daemon=True).start()

    def close(self) -> None:
        """Stop monitoring."""
        self._closing.set()
        self._collections.close()
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        now, waited = time.monotonic(), wait_of(os.getpid(), self._thread_id)
        collected = self._collections.total
        if self._due:
            self.record_delay(now - self._due - (waited - self._waited), now, collected - self._collected)
        self._due, self._waited, self._collected = now + INTERVAL, waited, collected
        self._timer = asyncio.get_running_loop().call_later(INTERVAL, self._tick)

    def record_delay(self, delay: float, now: float, collected: float = 0.0) -> None:
        """The timer was `delay` seconds late, not counting the time that the thread waited for a processor; garbage
        collections took `collected` seconds of the interval."""
        stack, self._stack = self._stack, []
        self.longest = max(self.longest, delay)
        if delay < THRESHOLD or (now < self._reported_until and delay <= self._reported):
            return
        self._reported_until, self._reported = now + QUIET_PERIOD, delay
        where = f" by:\n{''.join(traceback.format_list(stack)).rstrip()}" if stack else ""
        garbage = f" (garbage collection took {collected * 1000:.0f} ms)" if collected >= THRESHOLD / 4 else ""
        _log.warning("The event loop was blocked for %d ms%s%s", delay * 1000, garbage, where)

    def _watch(self) -> None:
        while not self._closing.wait(INTERVAL):
            if time.monotonic() > self._due + THRESHOLD / 2 and not self._stack:
                self._stack = self._where()

    def _where(self) -> list[traceback.FrameSummary]:
        """The innermost frames without their source lines: reading source files while the loop holds the interpreter
        would take longer than the block itself."""
        frames: list[traceback.FrameSummary] = []
        frame = sys._current_frames().get(self._thread)
        while frame is not None and len(frames) < _FRAMES:
            code = frame.f_code
            frames.append(traceback.FrameSummary(code.co_filename, frame.f_lineno, code.co_name, lookup_line=False))
            frame = frame.f_back
        return frames[::-1]

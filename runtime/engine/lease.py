"""A slot's lease: the time until which the worker is known to be in its group, and the end of the slot after it."""

from __future__ import annotations

import faulthandler
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from runtime.pipeline.port import RevokedError


class LeaseLostError(RevokedError):
    """The worker has not renewed the slot's lease: its tasks may be running elsewhere by now."""


class Lease:
    """A deadline. Extended by the thread that reads the channel, checked by tasks.

    A thread could not end a process in which one call holds the interpreter's lock; faulthandler's watchdog is C,
    needs no lock, writes every thread's stack and exits.
    """

    def __init__(self, stack: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stack = stack
        self._clock = clock
        self._deadline = float("-inf")

    def extend(self, asked_at: float, ttl: float) -> None:
        """The worker granted `ttl` seconds, counted from this slot's own question: however long the answer was on
        its way (or this process stopped), the deadline never lies behind the one the worker knows of."""
        self._deadline = asked_at + ttl
        remaining = max(self._deadline - self._clock(), 0.001)
        faulthandler.dump_traceback_later(remaining, exit=True, file=self._stack)

    @property
    def over(self) -> bool:
        return self._clock() >= self._deadline

    def check(self) -> None:
        """LeaseLostError when it is over, or was never granted."""
        if self.over:
            raise LeaseLostError("the slot's lease is over")


def stack_file(folder: str, slot: int, pid: int) -> Path:
    """Where a slot's stack is written when its lease ends."""
    return Path(folder, f"slot-{slot}-{pid}.stack")


def open_stack(folder: str, slot: int, pid: int) -> TextIO:
    """The stack file; standard error (the executor's log) where the worker's folder is not to be had."""
    try:
        return stack_file(folder, slot, pid).open("w")
    except OSError:
        return sys.stderr

"""A slot's lease: the time until which the worker is confirmed to be a member of its group."""

from __future__ import annotations

import faulthandler
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from runtime.engine.protocol.lease_cell import LeaseCell, cell_path, stack_of
from runtime.pipeline.task.failure import RevokedError
from runtime.system.lease_clock import lease_time

DUMP_SIGNAL = signal.SIGUSR1
"""Signal that makes a slot write the stacks of its threads, even while a call holds its interpreter."""


class LeaseLostError(RevokedError):
    """The worker has not renewed the slot's lease: the tasks may already run elsewhere."""


class Lease:
    """The deadline as tasks see it. A process that outlives its lease is ended by the driver (`guard.py`).

    A lease that was found to be over stays over even if the worker grants it at the same moment: the task that asked
    has given up by then, and counts as lost only when its slot ends. Thread-safe."""

    def __init__(self, cell: LeaseCell, clock: Callable[[], float] = lease_time) -> None:
        self._cell, self._clock = cell, clock
        self._lapsed = False

    @property
    def over(self) -> bool:
        """Whether the lease has expired or was never granted."""
        if self._lapsed or self._cell.deadline <= self._clock():
            self._lapsed = True
            self._cell.revoke()  # so that driver and worker end this process
        return self._lapsed

    def check(self) -> None:
        """LeaseLostError if the lease has expired or was never granted."""
        if self.over:
            raise LeaseLostError("the slot's lease has expired")


def stack_file(folder: str, slot: int, pid: int) -> Path:
    """The file to which a slot writes its stacks before it is ended."""
    return stack_of(cell_path(folder, slot, pid))


def dump_stacks_on_request(folder: str, slot: int, pid: int) -> TextIO:
    """Make DUMP_SIGNAL write the stacks of all threads to the stack file, or to standard error if there is no file.

    faulthandler's handler is C and needs no interpreter lock, so a call that holds it is shown too. The caller must
    keep the file open."""
    try:
        file: TextIO = stack_file(folder, slot, pid).open("a")  # the worker truncates it
    except OSError:
        file = sys.stderr
    faulthandler.register(DUMP_SIGNAL, file=file, all_threads=True)
    return file

"""Kills slots whose lease has expired, from the driver's process.

A slot checks its lease itself before it produces, puts or commits. The guard covers the rest: calls that hold the
interpreter, and records queued in the Kafka client. It needs neither the slot's interpreter nor the worker.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from runtime.engine.protocol.lease import DUMP_SIGNAL
from runtime.engine.protocol.lease_cell import GUARD_TIME, granted, stack_of
from runtime.system.lease_clock import lease_time
from runtime.system.processes import is_below

CHECK_INTERVAL = 0.2  # seconds between two checks
_DUMP_TIME = GUARD_TIME - CHECK_INTERVAL  # seconds that a slot has to write its stacks
_DUMP_POLL = 0.02


class Guard:
    """Checks the leases of all slots in a driver's folder. Only descendants of this process are killed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="guard", daemon=True).start()

    def _run(self) -> None:
        while True:
            time.sleep(CHECK_INTERVAL)
            with contextlib.suppress(OSError):  # as at the limit of file descriptors: the next check may succeed
                self.check()

    def check(self) -> None:
        """Kill the slots whose lease has expired, and remove the cells of processes that have ended."""
        over = []
        for path, pid, deadline in granted(self._folder):
            if not is_below(pid, os.getpid()):
                _forget(path)
            elif deadline <= lease_time():
                over.append((pid, stack_of(path)))
        end(over)

    def end_all(self) -> None:
        """Kill every slot, because the driver exits. Slots that cannot be found end when they lose it."""
        with contextlib.suppress(OSError):
            for _, pid, _ in granted(self._folder):
                if is_below(pid, os.getpid()):
                    _send(pid, signal.SIGKILL)


def end(slots: Sequence[tuple[int, Path]]) -> None:
    """Make the processes write their stacks to these files, then kill them."""
    for pid, _ in slots:
        _send(pid, DUMP_SIGNAL)
    deadline = time.monotonic() + _DUMP_TIME
    while time.monotonic() < deadline and not all(_written(stack) for _, stack in slots):
        time.sleep(_DUMP_POLL)
    for pid, _ in slots:
        _send(pid, signal.SIGKILL)


def _forget(cell: Path) -> None:
    """The slot's process has ended. A stack file with content is kept for the worker, which removes it."""
    cell.unlink(missing_ok=True)
    stack = stack_of(cell)
    with contextlib.suppress(FileNotFoundError):
        if not stack.stat().st_size:
            stack.unlink()


def _written(stack: Path) -> bool:
    try:
        return stack.stat().st_size > 0
    except OSError:  # the slot writes to standard error instead
        return True


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)

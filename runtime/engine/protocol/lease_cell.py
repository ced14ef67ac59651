"""The deadline of a slot's lease, in memory shared by worker and slot.

The worker writes it and the slot reads it, so that renewing a lease needs no response and no interpreter of the slot.
The cell is a file of 24 bytes in the driver's private folder, one for each slot process; its name holds the process id.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from runtime.system.lease_clock import suspended

NEVER = 0
"""The value of a cell before the first grant."""

GUARD_TIME = 0.7
"""Seconds within which the driver ends a slot whose lease has expired (driver/guard.py)."""

_REVOKED, _LAST = 1, 2**62
_CELL = struct.Struct("@qqq")
"""Nanoseconds of the lease's clock, twice, so that one copy is always complete; and how far it is ahead of the clock of
JVMs, which stands still while the machine is suspended."""

_SUFFIX = ".lease"
_TRIES = 100


class LeaseCell:
    """One slot's deadline. Times are seconds of lease_time(), one clock for all processes of a machine."""

    def __init__(self, memory: mmap.mmap, ahead: Callable[[], float] = suspended) -> None:
        """`ahead`: by how many seconds the clock of leases is ahead of that of JVMs."""
        self._memory, self._ahead = memory, ahead

    @classmethod
    def create(cls, folder: str, slot: int, pid: int) -> LeaseCell:
        """The cell of a new slot process, not granted yet. OSError where the folder cannot be written."""
        path = cell_path(folder, slot, pid)
        draft = path.with_suffix(".draft")
        draft.write_bytes(_CELL.pack(NEVER, NEVER, 0))
        draft.rename(path)
        return cls.open(folder, slot, pid)

    @classmethod
    def open(cls, folder: str, slot: int, pid: int) -> LeaseCell:
        """An existing cell. OSError if it does not exist."""
        with cell_path(folder, slot, pid).open("r+b") as file:
            return cls(mmap.mmap(file.fileno(), _CELL.size))

    def grant(self, deadline: float) -> None:
        """Extend the lease to `deadline`, which may be infinite."""
        self._write(int(max(min(deadline * 1e9, _LAST), _REVOKED)))

    def revoke(self) -> None:
        """End the lease immediately; the slot's process is ended soon after."""
        self._write(_REVOKED)

    @property
    def deadline(self) -> float:
        """The time until which the slot may work; 0 before the first grant."""
        return _whole(lambda: self._memory[: _CELL.size]) / 1e9

    def lapsed(self, now: float) -> bool:
        """Whether the lease was granted and has expired: it is never renewed, since tasks may have noticed."""
        return NEVER < self.deadline <= now

    def _write(self, nanoseconds: int) -> None:
        struct.pack_into("@q", self._memory, 16, int(self._ahead() * 1e9))
        struct.pack_into("@q", self._memory, 0, nanoseconds)
        struct.pack_into("@q", self._memory, 8, nanoseconds)


def cell_path(folder: str, slot: int, pid: int) -> Path:
    """The path of a slot process's cell."""
    return Path(folder, f"slot-{slot}-{pid}{_SUFFIX}")


def stack_of(cell: Path) -> Path:
    """The file next to a cell to which its slot writes its stacks."""
    return cell.with_suffix(".stack")


def _whole(read: Callable[[], bytes]) -> int:
    """The nanoseconds in a cell. Copies that differ are being written, and a partly written value could be any time."""
    for _ in range(_TRIES):
        first, second, _ = _CELL.unpack(read())
        if first == second:
            return int(first)
    return int(min(first, second))


def granted(folder: str) -> Iterator[tuple[Path, int, float]]:
    """Every cell of a folder that has been granted: its file, the pid of its slot, its deadline."""
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(folder):
            if not entry.name.endswith(_SUFFIX):
                continue
            path = Path(entry.path)
            with contextlib.suppress(OSError, struct.error, ValueError):
                deadline = _whole(path.read_bytes)
                if deadline != NEVER:
                    yield path, int(path.stem.rpartition("-")[2]), deadline / 1e9

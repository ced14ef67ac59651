"""Processes, from /proc."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from runtime.embedded.processes.process import ProcessRef
from tests.support.waiting import wait_until


class Startable:
    """One process or several, which tests start and stop."""

    def start(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    @contextmanager
    def started(self) -> Iterator[Self]:
        """The processes run until the block ends."""
        try:
            self.start()
            yield self
        finally:
            self.stop()


def children(pid: int) -> list[int]:
    """All descendants of a process, nearest first."""
    parents, found = _parents(), [pid]
    for parent in found:
        found += [child for child, its_parent in parents.items() if its_parent == parent]
    return found[1:]


def direct_children(pid: int) -> list[int]:
    """The direct children of a process."""
    return [child for child, parent in _parents().items() if parent == pid]


def _parents() -> dict[int, int]:
    """The parent of each process. The lists of children that threads have miss some while other threads end."""
    found: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):  # the process has ended
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def child_refs(pid: int) -> list[ProcessRef]:
    """As children(), with their start times, so that a process that gets the id of an ended one is not mistaken."""
    refs = []
    for child in children(pid):
        try:
            refs.append(ProcessRef.of(child))
        except ProcessLookupError:
            continue
    return refs


def is_slot(pid: int) -> bool:
    """Whether this is a fork of Spark's daemon, which has the same command line. A slot may have a JVM below it."""
    mark = "runtime.engine.driver.daemon"
    return mark in command_line(pid) and not any(mark in command_line(child) for child in direct_children(pid))


def command_line(pid: int) -> str:
    """The command line of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def alive(pid: int) -> bool:
    """Whether the process runs (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def freeze(pid: int) -> None:
    """Sends SIGSTOP and waits until no thread runs: on a busy machine the others work on until one of them has handled
    the signal."""
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: set(_thread_states(pid)) == {"T"}, what=f"process {pid} is stopped", every=0.001)


def _thread_states(pid: int) -> list[str]:
    try:
        stats = [task / "stat" for task in Path(f"/proc/{pid}/task").iterdir()]
        return [stat.read_text().rpartition(")")[2].split()[0] for stat in stats]
    except OSError:  # a thread has ended meanwhile
        return []

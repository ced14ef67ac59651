"""Processor time, memory and descriptors of a tree of processes, from /proc."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tests.support.processes import children

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of a process and its descendants. `pss` counts shared pages once."""

    pss: int  # bytes
    cpu: float  # processor seconds since their start
    threads: int
    files: int  # open descriptors
    most_files: int  # the largest number of open descriptors in one process
    processes: int


def usage(pid: int) -> Usage:
    """The usage of the process and its living descendants."""
    found = [one for one in map(_of_one, [pid, *children(pid)]) if one is not None]
    return Usage(
        pss=sum(one.pss for one in found),
        cpu=sum(one.cpu for one in found),
        threads=sum(one.threads for one in found),
        files=sum(one.files for one in found),
        most_files=max((one.files for one in found), default=0),
        processes=len(found),
    )


def _of_one(pid: int) -> Usage | None:
    proc = Path(f"/proc/{pid}")
    try:
        stat = (proc / "stat").read_text().rpartition(")")[2].split()
        files = sum(1 for _ in (proc / "fd").iterdir())
        pss = pss_of(pid)
    except OSError:
        return None
    return Usage(pss, (int(stat[11]) + int(stat[12])) / _TICKS, int(stat[17]), files, files, 1)


def pss_of(pid: int) -> int:
    """The memory of a process in bytes, with its share of shared pages. OSError if it has ended."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)

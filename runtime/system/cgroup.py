"""The limits of the control group of this process, as of its container: cores, memory, processes with threads.

Versions 1 and 2: cgroups(7), and the kernel's cgroup-v1/memory and cgroup-v2 pages. A limit of a group also holds for
the groups below it.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

_UNLIMITED = 1 << 60  # bytes; version 1 has the largest number of pages instead of a word
BEFORE_LARGER, BEFORE_ALL = 300, 1000
"""Scores of end_first(), in thousandths of the limit."""

_ESCAPED = re.compile(r"\\([0-7]{3})")


class Cgroup:
    """The control group of a process. Without one, or without a limit, everything is None or 0."""

    def __init__(self, process: Path = Path("/proc/self")) -> None:
        """`process`: its folder in /proc."""
        self._cpu, self._memory, self._pids = (_folders(process, name) for name in ("cpu", "memory", "pids"))

    @property
    def cores(self) -> float | None:
        """The processor time in seconds that the processes of the group may use in a second."""
        return min(filter(None, map(_quota, self._cpu)), default=None)

    @property
    def memory_limit(self) -> int | None:
        """Bytes."""
        return min((limit for _, limit in self._limited()), default=None)

    @property
    def memory_free(self) -> int | None:
        """Bytes that may still be used before the kernel ends a process: files that it has read count as free, since
        it can drop them."""
        return min((limit - _used(folder) for folder, limit in self._limited()), default=None)

    @property
    def kills(self) -> int:
        """How many of its processes the kernel has ended because memory was used up."""
        return next(filter(None, map(_kills, self._memory[:1])), 0)

    @property
    def threads_limit(self) -> int | None:
        """The number of processes and threads."""
        return min(filter(None, (_number(folder / "pids.max") for folder in self._pids)), default=None)

    @property
    def refused(self) -> int:
        """How many processes and threads could not be started because of this limit."""
        return sum(_table(folder / "pids.events").get("max", 0) for folder in self._pids)

    def _limited(self) -> Iterator[tuple[Path, int]]:
        for folder in self._memory:
            limit = _number(folder / "memory.max") or _number(folder / "memory.limit_in_bytes")
            if limit and limit < _UNLIMITED:
                yield folder, limit


class ReachedLimits:
    """Notices the processes of the group that the kernel has ended, or not let start, because of a limit."""

    def __init__(self, group: Cgroup | None = None) -> None:
        self._group = group or Cgroup()
        self._kills, self._refused = self._group.kills, self._group.refused

    def look(self) -> Iterator[str]:
        """What the kernel has done since the last call, with the remedies."""
        kills, refused = self._group.kills, self._group.refused
        if kills > self._kills:
            yield _out_of_memory(kills - self._kills, self._group.memory_limit)
        if refused > self._refused:
            yield _out_of_threads(refused - self._refused, self._group.threads_limit)
        self._kills, self._refused = kills, refused


def _out_of_memory(kills: int, limit: int | None) -> str:
    what = "the machine's memory" if limit is None else f"the memory limit of {limit >> 20} MB"
    return (
        f"Out of memory: the kernel has ended {kills} process{'es' if kills > 1 else ''} of this worker because {what} "
        "was used up. Raise it, set headrace.slot.memory.mb, or use fewer slots or smaller heaps"
    )


def _out_of_threads(refused: int, limit: int | None) -> str:
    return (
        f"Out of threads: {refused} could not be started because the control group of this worker has reached its limit"
        f"{'' if limit is None else f' of {limit}'} (pids.max). Raise it (TasksMax= of systemd, --pids-limit of "
        "containers, podPidsLimit of Kubernetes), or use more workers"
    )


def end_first(
    added: int = BEFORE_LARGER, score: Path = Path("/proc/self/oom_score_adj"), group: Cgroup | None = None
) -> None:
    """Under a memory limit, have the kernel end this process, or those that it will start, rather than others of the
    group, unless these are larger by this part of the limit: those do the work of all."""
    if (group or Cgroup()).memory_limit is not None:
        with contextlib.suppress(OSError, ValueError):
            score.write_text(str(min(int(score.read_text()) + added, 1000)))


def usable_cores(group: Cgroup | None = None) -> int:
    """The cores that this process may use, at least one. A quota is rounded up, as by Java."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(available, math.ceil((group or Cgroup()).cores or available))


def _folders(process: Path, controller: str) -> Sequence[Path]:
    """The folder of the group of a controller, and those above it as far as they are visible."""
    try:
        groups = [line.split(":", 2)[1:] for line in (process / "cgroup").read_text().splitlines()]
        mounts = (process / "mountinfo").read_text().splitlines()
    except (OSError, UnicodeDecodeError):  # another system than Linux
        return ()
    own = next((path for names, path in groups if controller in names.split(",")), None)
    version, own = ("cgroup2", dict(groups).get("")) if own is None else ("cgroup", own)
    for line in mounts:
        place, _, source = line.partition(" - ")
        kind, _, options = source.split(" ", 2)
        if own is not None and kind == version and (kind == "cgroup2" or controller in options.split(",")):
            root, mounted = map(_unescaped, place.split(" ")[3:5])
            return _upwards(Path(mounted), PurePosixPath(own), PurePosixPath(root))
    return ()


def _upwards(mounted: Path, own: PurePosixPath, root: PurePosixPath) -> Sequence[Path]:
    """A container sees its own group as the root, or has only that mounted."""
    inside = own.is_relative_to(root) and ".." not in own.parts
    folder = mounted / own.relative_to(root) if inside else mounted
    return [folder, *(parent for parent in folder.parents if parent.is_relative_to(mounted))]


def _unescaped(path: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 8)), path)


def _quota(folder: Path) -> float | None:
    words = _words(folder / "cpu.max") or [*_words(folder / "cpu.cfs_quota_us"), *_words(folder / "cpu.cfs_period_us")]
    quota, period = (*words, "", "")[:2]
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() else None  # "max", -1: without a limit


def _used(folder: Path) -> int:
    """Without files in memory, which the kernel can drop."""
    used = _number(folder / "memory.current") or _number(folder / "memory.usage_in_bytes") or 0
    statistics = _table(folder / "memory.stat")
    prefix = "total_" if "total_active_file" in statistics else ""
    return used - sum(statistics.get(f"{prefix}{kind}_file", 0) for kind in ("active", "inactive"))


def _kills(folder: Path) -> int:
    files = (folder / "memory.events", folder / "memory.oom_control")
    return sum(_table(file).get("oom_kill", 0) for file in files)


def _table(file: Path) -> dict[str, int]:
    words = _words(file)
    return {key: int(value) for key, value in zip(words[::2], words[1::2], strict=False) if value.isdigit()}


def _number(file: Path) -> int | None:
    words = _words(file)
    return int(words[0]) if words and words[0].isdigit() else None


def _words(file: Path) -> Sequence[str]:
    try:
        return file.read_text().split()
    except OSError:
        return ()

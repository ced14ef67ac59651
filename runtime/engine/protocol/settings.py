"""Settings of the engine, of its driver and of its slots, each made from the one before."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

MAX_DEFAULT_SLOTS = 8
MAX_EXTRA_SLOTS = 32  # each is a process of about 40 MB
_LOCAL = re.compile(r"local\[(\d+)(?:,\d+)?\]")


def default_slots() -> int:
    """One for each core this process may use; more than a few have to be asked for."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, MAX_DEFAULT_SLOTS)


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Times are in seconds. `runner` names the class that runs a task in a slot ("package.module:Class")."""

    slots: int = field(default_factory=default_slots)
    spark_conf: Mapping[str, str] = field(default_factory=dict)  # properties beginning with `spark.`
    lease_ttl: float = 10.0
    runner: str = "runtime.pipeline.runner:TaskRunner"
    driver_start_timeout: float = 90.0  # until Spark is up; then another driver is tried
    slot_wait: float = 3.0  # how long tasks wait for missing slots before those that are there take them all
    stuck_after: float = 60.0  # how long a task's poll, put, start or stop may last before it is called stuck
    slot_memory: int = 0  # bytes that a slot may take before another takes its place; 0: any number
    archive: bool = True  # keep a class-data-sharing archive of the driver's JVM in the user's cache

    @property
    def master(self) -> str:
        """Two cores more than slots, which hold theirs for ever: queries and tiny jobs need some."""
        return self.spark_conf.get("spark.master", f"local[{self.slots + MAX_EXTRA_SLOTS + 2}]")

    @property
    def max_extra_slots(self) -> int:
        """How many slots may come on top; where Spark's master has its own number of cores, what that leaves."""
        cores = _LOCAL.fullmatch(self.master)
        return MAX_EXTRA_SLOTS if cores is None else max(0, min(MAX_EXTRA_SLOTS, int(cores[1]) - self.slots - 2))

    @property
    def local(self) -> bool:
        """Slots run on this machine, in Spark's local mode."""
        return self.master.startswith("local")


@dataclass(frozen=True, slots=True)
class DriverSettings:
    """What the worker tells a driver: one line of JSON on its standard input."""

    generation: int
    slots: list[int]  # the numbers of those to keep, until the worker says otherwise
    master: str
    conf: dict[str, str]
    folder: str  # for this driver alone; it is removed at the end
    socket: str  # path of the worker's Unix socket for slots
    lease_ttl: float
    runner: str
    archive: bool  # start from the archive
    record: bool  # write the archive, keep no slots

    @property
    def local(self) -> bool:
        return self.master.startswith("local")


@dataclass(frozen=True, slots=True)
class SlotSettings:
    """What the driver ships with the Spark task."""

    socket: str
    generation: int  # of the driver
    slot: int
    attempt: int
    lease_ttl: float
    runner: str
    folder: str

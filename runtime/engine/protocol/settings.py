"""Settings of the engine, its driver and its slots, each derived from the previous."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtime.config.spark_cluster import is_local
from runtime.engine.protocol.remote import RemoteAccess
from runtime.system.cgroup import usable_cores

MAX_EXTRA_SLOTS = 32  # each is a process of about 40 MB
_SESSION_CORES = 8  # of Spark, at least
DEFAULT_JAVA_HEAP = 256
"""MB of heap of a task host JVM."""

_LOCAL = re.compile(r"local\[(\d+)(?:,\d+)?\]")


def session_socket(slots_socket: str, generation: int) -> Path:
    """The driver's socket for its Spark session, beside that of the slots, since the path of a socket must be short."""
    return Path(slots_socket).with_name(f"spark{generation}.sock")


def session_link(slots_socket: str) -> Path:
    """A link to the socket of the current driver's Spark session, for processes that outlive drivers."""
    return Path(slots_socket).with_name("spark.sock")


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Times are in seconds. `runner` names the class that runs a task in a slot ("package.module:Class")."""

    slots: int = 1
    spark_conf: Mapping[str, str] = field(default_factory=dict)  # properties beginning with `spark.`
    lease_ttl: float = 10.0  # of a slot on another machine; a third is the time between two reports of a slot
    membership: float = 0.0  # for which a membership in the group is confirmed at most; infinite without a group
    runner: str = "runtime.pipeline.runner:TaskRunner"
    driver_start_timeout: float = 90.0  # for Spark to start; then another driver is started, with twice the time
    slot_start_timeout: float = 60.0  # for a slot to connect; then it is started again
    slot_wait: float = 3.0  # for which tasks wait for missing slots before the connected slots take all tasks
    stuck_after: float = 60.0  # after which a poll, put, start or stop is reported as stuck
    slot_memory: int = 0  # bytes of memory after which a slot is replaced; 0: no limit
    java_heap: int = DEFAULT_JAVA_HEAP  # MB, of the JVM of each slot that runs Java plugins
    java_options: tuple[str, ...] = ()  # further options of that JVM
    plugin_path: tuple[str, ...] = ()  # whose Java plugins may load each other by name
    file_paths: tuple[str, ...] = ()  # headrace.file.paths; empty: no limit
    slot_port: int = 0  # for slots on other machines; 0: any free one
    archive: bool = True  # keep a class-data-sharing archive of the driver's JVM in the user's cache

    @property
    def longest_lease(self) -> float:
        """The maximum lease. The lease of a slot on this machine lasts as long as the membership, since its end is
        certain when this worker has killed it; tasks of a slot elsewhere have to wait for the end of its lease."""
        return max(self.lease_ttl, self.membership) if self.local else self.lease_ttl

    @property
    def start_timeout(self) -> float:
        """Seconds for Spark to start; more if packages may have to be downloaded, or if a cluster has to accept the
        application: a new driver would be last in the queue again."""
        return self.driver_start_timeout * (10 if "spark.packages" in self.spark_conf or not self.local else 1)

    @property
    def master(self) -> str:
        """Spark's master; by default with two more cores than slots, since other jobs need cores too."""
        return self.spark_conf.get("spark.master", f"local[{self.slots + MAX_EXTRA_SLOTS + 2}]")

    @property
    def max_extra_slots(self) -> int:
        """The maximum number of extra slots; less if the configured master has fewer cores."""
        cores = _LOCAL.fullmatch(self.master)
        return MAX_EXTRA_SLOTS if cores is None else max(0, min(MAX_EXTRA_SLOTS, int(cores[1]) - self.slots - 2))

    @property
    def local(self) -> bool:
        """Slots run on this machine, in Spark's local mode."""
        return is_local(self.master)


@dataclass(frozen=True, slots=True)
class DriverSettings:
    """Sent by the worker to a driver as one line of JSON on standard input."""

    generation: int
    slots: list[int]  # numbers of the slots to keep, until the worker sends others
    executors: list[tuple[int, int, int]]  # as in SlotsMessage
    master: str
    conf: dict[str, str]
    folder: str  # of this driver; removed at its end
    socket: str  # path of the worker's Unix socket for slots
    lease_ttl: float
    runner: str
    archive: bool  # start from the class-data-sharing archive
    java_heap: int
    java_options: list[str]
    plugin_path: list[str]
    file_paths: list[str]  # headrace.file.paths
    record: bool  # write the archive and keep no slots
    access: RemoteAccess | None = None  # for slots on other machines; None in local mode
    secret: str = ""  # from which the tokens of those slots are derived

    @property
    def local(self) -> bool:
        """Whether slots run on this machine, in Spark's local mode."""
        return is_local(self.master)

    @property
    def session_master(self) -> str:
        """Spark's master for the session of connectors on this machine. Jobs of several connectors run at the same
        time, and a reader that waits for records holds a core of Spark."""
        return self.conf.get("spark.master", f"local[{max(2 * usable_cores(), _SESSION_CORES)}]")

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> DriverSettings:
        """The settings in a JSON object."""
        return cls(**{**data, "access": data["access"] and RemoteAccess(**data["access"])})


@dataclass(frozen=True, slots=True)
class SlotSettings:
    """Sent by the driver with the Spark task."""

    socket: str
    generation: int  # of the driver
    slot: int
    attempt: int
    lease_ttl: float
    runner: str
    folder: str
    java_heap: int = DEFAULT_JAVA_HEAP
    java_options: tuple[str, ...] = ()
    plugin_path: tuple[str, ...] = ()
    access: RemoteAccess | None = None  # of a slot on another machine, instead of `socket`

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> SlotSettings:
        """The settings in a JSON object."""
        lists = {name: tuple(data[name]) for name in ("java_options", "plugin_path")}
        return cls(**{**data, **lists, "access": data["access"] and RemoteAccess(**data["access"])})

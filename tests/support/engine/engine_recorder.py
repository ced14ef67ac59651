"""Records the reports of an engine, and finds the processes that it has started."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from runtime.engine.placement.slot_link import SlotLink
from runtime.model.states import State, TaskId
from runtime.model.task_spec import ConverterSpec, SourceOffset, TaskSpec
from runtime.system.processes import OwnProcess
from tests.support.processes import alive, children, command_line, direct_children
from tests.support.waiting import wait_until

_DRIVER = "runtime.engine.driver.driver"
_MAINS = ("org.apache.spark.api.python.PythonGatewayServer", "org.apache.spark.deploy.SparkSubmit")  # of Spark's JVMs


@dataclass
class Recorder:
    """An EngineListener that records all reports."""

    states: list[tuple[TaskId, int, State, str | None, float]] = field(default_factory=list)
    topics: list[tuple[TaskId, int, str]] = field(default_factory=list)
    lost: list[tuple[TaskId, int, str | None, str]] = field(default_factory=list)
    stuck: list[tuple[TaskId, int, str]] = field(default_factory=list)
    leases: list[bool] = field(default_factory=list)
    lines: list[tuple[str, str, str, str]] = field(default_factory=list)

    def task_state(self, task: TaskId, epoch: int, state: State, trace: str | None) -> None:
        self.states.append((task, epoch, state, trace, time.perf_counter()))

    def task_topic(self, task: TaskId, epoch: int, topic: str) -> None:
        self.topics.append((task, epoch, topic))

    def task_meter(self, task: TaskId, epoch: int, meter: Mapping[str, Any]) -> None:
        """Not recorded."""

    def task_errors(self, task: TaskId, epoch: int, counts: Mapping[str, Any]) -> None:
        pass

    def task_lost(self, task: TaskId, epoch: int, member_id: str | None, reason: str) -> None:
        self.lost.append((task, epoch, member_id, reason))

    def task_stuck(self, task: TaskId, epoch: int, call: str, seconds: float) -> None:
        self.stuck.append((task, epoch, call))

    def java_ended(self, reason: str) -> None:
        """Not recorded."""

    async def task_offsets(self, task: TaskId, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        pass

    async def read_offsets(self, task: TaskId, partitions: Sequence[str]) -> list[None]:
        return [None for _ in partitions]

    async def confirm_start(self, task: TaskId, epoch: int) -> list[SourceOffset]:
        return []

    def lease_changed(self, held: bool) -> None:
        self.leases.append(held)

    def slots_changed(self) -> None:
        pass

    def log(self, level: str, logger: str, message: str, context: str) -> None:
        self.lines.append((level, logger, message, context))

    def has(self, task: TaskId, epoch: int, state: State) -> bool:
        return any(entry[:3] == (task, epoch, state) for entry in self.states)

    def trace(self, task: TaskId, of: State = State.FAILED) -> str:
        return next(trace or "" for id_, _, state, trace, _ in self.states if id_ == task and state is of)

    def lost_tasks(self) -> list[tuple[TaskId, int]]:
        return [entry[:2] for entry in self.lost]

    def has_lost(self, task: TaskId, epoch: int) -> bool:
        return (task, epoch) in self.lost_tasks()


class DiscardingWriter:
    """Accepts and discards everything that is sent to a slot."""

    def is_closing(self) -> bool:
        return False

    def write(self, data: bytes) -> None:
        pass

    def close(self) -> None:
        pass


def slot_link(slot: int = 0, heard: float = 0.0, leased: bool = True) -> SlotLink:
    """A connected slot of the first attempt and generation, whose process is this one."""
    return SlotLink(slot, 1, 1, OwnProcess(os.getpid()), cast("Any", DiscardingWriter()), heard, leased=leased)


def ignore(*_: Any) -> None:
    """A callback without effect."""


def task_spec(name: str, epoch: int = 1, **config: str) -> TaskSpec:
    """A task for ScriptedRunner."""
    converter = ConverterSpec("StringConverter")
    return TaskSpec(name, 0, epoch, "source", "x:Y", config, converter, converter, converter)


def descendants(pid: int) -> dict[int, str]:
    """Command lines of all living processes of this process's engines: drivers and their descendants. Other
    descendants, such as the broker of the test run and workers with their own engines, are excluded."""
    below = children(pid)
    drivers = [child for child in direct_children(pid) if _DRIVER in command_line(child)]
    engines = {*drivers, *(child for driver in drivers for child in children(driver))}
    return {child: command_line(child) for child in below if child in engines and alive(child)}


def jvm_of(processes: dict[int, str]) -> int:
    return next(pid for pid, command in processes.items() if any(main in command for main in _MAINS))


def driver_of(processes: dict[int, str]) -> int:
    return next(pid for pid, command in processes.items() if _DRIVER in command)


def living_driver(worker: int) -> int:
    """The driver of a worker's process; waits for it if it is being replaced."""
    drivers = wait_until(lambda: [pid for pid in children(worker) if _DRIVER in command_line(pid)], 60, "the driver")
    return drivers[0]

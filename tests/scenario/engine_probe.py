"""What the engine's tests look at: everything it reports, and the processes it has started."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from runtime.engine.spec import ConverterSpec, TaskSpec
from runtime.vocabulary import State, TaskId


@dataclass
class Recorder:
    """An EngineListener that remembers."""

    states: list[tuple[TaskId, int, State, str | None, float]] = field(default_factory=list)
    topics: list[tuple[TaskId, int, str]] = field(default_factory=list)
    lost: list[tuple[TaskId, int, str | None, str]] = field(default_factory=list)
    lines: list[tuple[str, str, str, str]] = field(default_factory=list)

    def task_state(self, task: TaskId, epoch: int, state: State, trace: str | None) -> None:
        self.states.append((task, epoch, state, trace, time.perf_counter()))

    def task_topic(self, task: TaskId, epoch: int, topic: str) -> None:
        self.topics.append((task, epoch, topic))

    def task_lost(self, task: TaskId, epoch: int, member_id: str | None, reason: str) -> None:
        self.lost.append((task, epoch, member_id, reason))

    def slots_changed(self) -> None:
        pass

    def log(self, level: str, logger: str, message: str, context: str) -> None:
        self.lines.append((level, logger, message, context))

    def has(self, task: TaskId, epoch: int, state: State) -> bool:
        return any(entry[:3] == (task, epoch, state) for entry in self.states)

    def trace(self, task: TaskId) -> str:
        return next(trace or "" for id_, _, state, trace, _ in self.states if id_ == task and state is State.FAILED)

    def lost_tasks(self) -> list[tuple[TaskId, int]]:
        return [entry[:2] for entry in self.lost]


async def until(condition: Callable[[], object], timeout: float = 30.0) -> float:
    """Seconds until the condition holds; AssertionError when it does not in time."""
    started = time.perf_counter()
    while not condition():
        assert time.perf_counter() - started < timeout, f"not so after {timeout} s"
        await asyncio.sleep(0.005)
    return time.perf_counter() - started


def task_spec(name: str, epoch: int = 1, paused: bool = False, **config: str) -> TaskSpec:
    """A task for ScriptedRunner."""
    converter = ConverterSpec("StringConverter")
    return TaskSpec(name, 0, epoch, "source", "x:Y", config, converter, converter, converter, paused=paused)


def descendants(pid: int) -> dict[int, str]:
    """Command lines of all living processes below this one."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            children.setdefault(int(parent), []).append(int(stat.parent.name))
    found: dict[int, str] = {}
    front = [pid]
    while front:
        for child in children.get(front.pop(), []):
            found[child] = command_line(child)
            front.append(child)
    return found


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def alive(pid: int) -> bool:
    """Exists, and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def jvm_of(processes: dict[int, str]) -> int:
    return next(pid for pid, command in processes.items() if "org.apache.spark.deploy.SparkSubmit" in command)


def driver_of(processes: dict[int, str]) -> int:
    return next(pid for pid, command in processes.items() if "runtime.engine.driver" in command)


def kill(pid: int) -> None:
    os.kill(pid, 9)

"""A source and a sink that record their lives: proof that a task never has two owners, and that no record is lost.

A life lasts from start() to the last call of the task object. Each life has an id, and leaves two kinds of traces:

- Marks: a line for start(), for poll() or put() at least every 50 ms, and for the end of stop(), appended to the file
  `marks` by one write() call, so that neither a kill nor an expired lease can lose a mark that counts. Their times are
  the machine's CLOCK_MONOTONIC, which is the same in all processes.
- Records: the source writes `life number time` with consecutive numbers to its topic, and the sink appends the values
  to its file, after its own life. If two lives ever wrote at the same time, lives would alternate there.
"""

from __future__ import annotations

import ctypes
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from runtime.api import (
    STRING_SCHEMA,
    ConfigDef,
    ConfigKey,
    ConfigType,
    SinkConnector,
    SinkRecord,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
)

_BETWEEN_MARKS = 0.05  # seconds
_BETWEEN_RECORDS = 0.1
TASK = "task.number"


class _Log:
    """A file to which processes append lines at the same time."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC)

    def append(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def close(self) -> None:
        os.close(self._fd)


class _Life:
    """The marks of one life of a task."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self.id = uuid.uuid4().hex[:12]
        self._who = f"{config['name']} {config[TASK]} {self.id} {os.getpid()}"
        self._log = _Log(config["marks"])
        self._marked = 0.0
        self._mark("start")

    def alive(self) -> None:
        if time.monotonic() - self._marked >= _BETWEEN_MARKS:
            self._mark("alive")

    def end(self) -> None:
        self._mark("end")
        self._log.close()

    def _mark(self, event: str) -> None:
        self._marked = time.monotonic()
        self._log.append(f"{self._who} {event} {self._marked:.6f}\n")


def _configs(config: Mapping[str, str], tasks: int) -> Sequence[Mapping[str, str]]:
    return [{**config, TASK: str(number)} for number in range(tasks)]


class LifeSourceTask(SourceTask):
    """Counts until the file `done` exists. If the file `hold` exists, removes it and holds the GIL for a
    minute."""

    idle_poll = _BETWEEN_MARKS
    _life: _Life | None = None

    def start(self, config: Mapping[str, str]) -> None:
        self._topic, self._done = config["topic"], Path(config["done"])
        self._hold = Path(config["hold"]) if "hold" in config else None
        self._partition = {"task": config[TASK]}
        offset = self.context.offsets.offset(self._partition)
        self._number = int(offset["number"]) if offset else 0
        self._next = 0.0
        self._life = _Life(config)

    def poll(self) -> Sequence[SourceRecord] | None:
        assert self._life is not None
        self._life.alive()
        if self._hold is not None and self._hold.exists():
            self._hold.unlink()
            hold_gil(60)
        now = time.monotonic()
        if now < self._next or self._done.exists():
            return None
        self._next = now + _BETWEEN_RECORDS
        value = f"{self._life.id} {self._number} {now:.6f}"
        self._number += 1
        return [SourceRecord(self._partition, {"number": self._number}, self._topic, value, STRING_SCHEMA)]

    def stop(self) -> None:
        if self._life is not None:
            self._life.end()


def hold_gil(seconds: int) -> None:
    """Sleeps without releasing the interpreter lock, so that no other thread of the process runs Python code."""
    ctypes.PyDLL(None).sleep(seconds)


class LifeSourceConnector(SourceConnector):
    config_def = ConfigDef(
        ConfigKey("topic", ConfigType.STRING, doc="Topic for the numbers."),
        ConfigKey("marks", ConfigType.STRING, doc="File for the marks."),
        ConfigKey("done", ConfigType.STRING, doc="File whose existence ends the counting."),
    )
    task_class = LifeSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return _configs(self.config, max_tasks)

    def alter_offsets(self, config: Mapping[str, str], offsets: Any) -> bool:
        return True


class LifeSinkTask(SinkTask):
    """Appends `life value` for each record."""

    _life: _Life | None = None

    def start(self, config: Mapping[str, str]) -> None:
        self._out = _Log(config["file"])
        self._life = _Life(config)

    def put(self, records: Sequence[SinkRecord]) -> None:
        assert self._life is not None
        self._life.alive()
        if records:
            self._out.append("".join(f"{self._life.id} {record.value}\n" for record in records))

    def stop(self) -> None:
        if self._life is not None:
            self._life.end()
            self._out.close()


class LifeSinkConnector(SinkConnector):
    config_def = ConfigDef(
        ConfigKey("file", ConfigType.STRING, doc="File for the values."),
        ConfigKey("marks", ConfigType.STRING, doc="File for the marks."),
    )
    task_class = LifeSinkTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return _configs(self.config, max_tasks)

"""Connectors that misbehave as their config says: `bad.in` names a method, `bad.how` its behaviour."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api import (
    STRING_SCHEMA,
    ConfigDef,
    ConfigKey,
    ConfigType,
    ConfigValue,
    Connector,
    SinkConnector,
    SinkRecord,
    SinkTask,
    SourceConnector,
    SourceRecord,
    SourceTask,
    TopicPartition,
)

KEYS = ConfigDef(
    ConfigKey("topic", ConfigType.STRING, "", doc="Where records go."),
    ConfigKey(
        "bad.in", ConfigType.STRING, "", doc="A method: validate, start, task_configs, stop, task.start, task.poll …"
    ),
    ConfigKey(
        "bad.how", ConfigType.STRING, "raise", doc="raise, mute, verbose, garbage, block, exit, kill, leak, kill_worker"
    ),
    ConfigKey("bad.after", ConfigType.INT, 0, doc="How often the method is well-behaved before."),
)
_log = logging.getLogger(__name__)
_leaked: list[Any] = []


class MuteError(Exception):
    """An error whose message cannot be read."""

    def __str__(self) -> str:
        raise ValueError("the message cannot be read")


class Behaviour:
    """The configured behaviour of each method."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self._where, self._how = config.get("bad.in", ""), config.get("bad.how", "raise")
        self._left = int(config.get("bad.after", "0"))

    def at(self, method: str) -> bool:
        """Misbehaves if this is the configured method. Returns True if the method has to return garbage."""
        if method != self._where:
            return False
        if self._left > 0:
            self._left -= 1
            return False
        _log.warning("misbehaving in %s", method)
        if self._how == "raise":
            raise RuntimeError(f"{method} fails as configured")
        if self._how == "mute":
            raise MuteError
        if self._how == "verbose":
            raise RuntimeError("x" * 80_000_000)
        if self._how == "exit":
            raise SystemExit(f"exit in {method}")
        if self._how == "kill":
            os._exit(11)
        if self._how == "kill_worker":
            os.kill(os.getppid(), signal.SIGKILL)
            threading.Event().wait()
        if self._how == "block":
            threading.Event().wait()
        if self._how == "leak":
            _leaked.append(bytearray(1_000_000))
            threading.Thread(target=threading.Event().wait, daemon=False).start()
        return self._how == "garbage"


class BadTask(SourceTask):
    """Produces a few numbers each second."""

    def start(self, config: Mapping[str, str]) -> None:
        self._behaviour, self._topic = Behaviour(config), config["topic"]
        offset = self.context.offsets.offset({"of": self._topic})
        self._next = int(offset["n"]) if offset else 0
        self._behaviour.at("task.start")

    def poll(self) -> Sequence[SourceRecord]:
        time.sleep(0.02)
        if self._behaviour.at("task.poll"):
            return "no records"  # type: ignore[return-value]
        self._next += 1
        return [SourceRecord({"of": self._topic}, {"n": self._next}, self._topic, str(self._next), STRING_SCHEMA)]

    def commit(self) -> None:
        self._behaviour.at("task.commit")

    def stop(self) -> None:
        self._behaviour.at("task.stop")


class _Bad(Connector):
    config_def = KEYS

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        if Behaviour(config).at("validate"):
            return "all is well"  # type: ignore[return-value]
        return super().validate(config)

    def start(self, config: Mapping[str, str]) -> None:
        self._config, self._behaviour = dict(config), Behaviour(config)
        self._behaviour.at("start")

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        if self._behaviour.at("task_configs"):
            return [1, None]  # type: ignore[list-item]
        return [self._config]

    def stop(self) -> None:
        self._behaviour.at("stop")


class BadSource(_Bad, SourceConnector):
    task_class = BadTask


class BadSinkTask(SinkTask):
    def start(self, config: Mapping[str, str]) -> None:
        self._behaviour = Behaviour(config)
        self._behaviour.at("task.start")

    def open(self, partitions: Sequence[TopicPartition]) -> None:
        self._behaviour.at("task.open")

    def put(self, records: Sequence[SinkRecord]) -> None:
        self._behaviour.at("task.put")

    def pre_commit(self, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int]:
        if self._behaviour.at("task.pre_commit"):
            return None  # type: ignore[return-value]
        return super().pre_commit(offsets)

    def flush(self, offsets: Mapping[TopicPartition, int]) -> None:
        self._behaviour.at("task.flush")

    def close(self, partitions: Sequence[TopicPartition]) -> None:
        self._behaviour.at("task.close")

    def stop(self) -> None:
        self._behaviour.at("task.stop")


class BadSink(_Bad, SinkConnector):
    task_class = BadSinkTask


class _Raising:
    """The config_def of a class that raises when its definition is read."""

    def __get__(self, instance: object, owner: type) -> ConfigDef:
        raise RuntimeError("the definition cannot be read")


class UndefinedSource(BadSource):
    config_def = _Raising()

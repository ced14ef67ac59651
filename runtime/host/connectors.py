"""The connector instances of the plugin host (child side)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.connector import Connector
from runtime.pipeline.trace import trace_of

_log = logging.getLogger(__name__)

Send = Callable[[dict[str, Any]], None]
"""Sends a message to the worker."""

Config = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Context:
    """ConnectorContext of one instance: hands its wishes to the worker."""

    name: str
    send: Send

    def request_task_reconfiguration(self) -> None:
        self.send({"event": "reconfigure", "connector": self.name})

    def raise_error(self, error: Exception) -> None:
        self.send({"event": "failed", "connector": self.name, "trace": trace_of(error)})


class Started:
    """Started connectors by name. Calls about one connector wait for each other, others do not."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._running: dict[str, tuple[Connector, Config]] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._table = threading.Lock()

    def start(self, name: str, connector: Connector, config: Config) -> None:
        """Start this instance in the place of one of the same name."""
        with self._lock(name):
            self._stop(name)
            connector.context = Context(name, self._send)
            connector.start(config)
            self._running[name] = (connector, config)

    def stop(self, name: str) -> None:
        with self._lock(name):
            self._stop(name)

    def stop_all(self) -> None:
        for name in list(self._running):
            self.stop(name)

    def task_configs(self, name: str, max_tasks: int) -> list[dict[str, str]]:
        """What the connector says, and what Connect adds: the task's class, and the topics of a sink."""
        with self._lock(name):
            if name not in self._running:
                raise LookupError(f"Connector {name} is not started")
            connector, config = self._running[name]
            configs = connector.task_configs(max_tasks)
        added = {"task.class": public_name(connector.task_class)}
        added |= {key: config[key] for key in ("topics", "topics.regex") if key in config}
        return [_checked({**task, **added}) for task in configs]

    def _stop(self, name: str) -> None:
        connector, _ = self._running.pop(name, (None, None))
        if connector is None:
            return
        try:
            connector.stop()
        except BaseException:  # third-party code: the instance is given up whatever it does
            _log.exception("Connector %s failed to stop", name)

    def _lock(self, name: str) -> threading.Lock:
        with self._table:
            return self._locks.setdefault(name, threading.Lock())


def public_name(cls: type) -> str:
    """The class name that users and stored configs know: the Java one for what Apache ships."""
    name: str = cls.__dict__.get("java_name") or f"{cls.__module__}.{cls.__qualname__}"
    return name


def _checked(config: Mapping[Any, Any]) -> dict[str, str]:
    for key, value in config.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"task_configs() has to give text for text, but gave {key!r}: {value!r}")
    return dict(config)

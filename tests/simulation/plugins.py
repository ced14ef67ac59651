"""The simulated plugin host of a worker (runtime.host.port): sources and sinks whose configuration says what they do.

Keys of a connector: `parts` (how many partitions), `shift` (rotates them over the tasks), `topic`, `version` (in every
record), `start` (`raise`, or seconds that start() takes), `fails` (`1`: tasks fail now and then)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.host.port import HOST_DIED, ConnectorInfo, HostError, HostListener
from tests.simulation.loop import SimLoop
from tests.simulation.trace import Trace

SOURCE = ConnectorInfo("Source", "source", "1", "SourceTask", "simulated:Source")
SINK = ConnectorInfo("Sink", "sink", "1", "SinkTask", "simulated:Sink")

Config = Mapping[str, str]


class SimPluginHost:
    """Calls take a random time; `die()` ends the process with its connectors."""

    def __init__(self, listener: HostListener, loop: SimLoop, trace: Trace, name: str) -> None:
        self._listener, self._loop, self._trace, self._name = listener, loop, trace, name
        self._started: dict[str, Config] = {}
        self._died = asyncio.Event()

    async def start(self) -> None:
        return

    async def close(self) -> None:
        self._started.clear()

    def set_levels(self, levels: Mapping[str, str]) -> None:
        return

    def die(self) -> None:
        """Called in the worker's process."""
        self._trace.add(f"plugin host of {self._name} dies")
        lost = list(self._started)
        self._started.clear()
        self._died.set()
        self._died = asyncio.Event()
        self._listener.connectors_lost(lost, "killed")

    async def _call(self, seconds: float = 0.0) -> None:
        try:
            async with asyncio.timeout(seconds + self._loop.random.random() * 0.02):
                await self._died.wait()
        except TimeoutError:
            return
        raise HostError(HOST_DIED, "The plugin host died", "trace")

    async def plugins(self, connectors_only: bool) -> list[dict[str, str]]:
        return []

    async def resolve(self, connector_class: str, config: Mapping[str, str | None] | None = None) -> ConnectorInfo:
        await self._call()
        return SINK if connector_class == "Sink" else SOURCE

    async def describe(self, plugin: str, version: str | None = None) -> list[dict[str, Any]]:
        return []

    async def validate(self, config: Mapping[str, str | None], text_only: bool = False) -> dict[str, Any]:
        await self._call()
        return {"name": "Source", "error_count": 0, "groups": [], "configs": [_entry(k, v) for k, v in config.items()]}

    async def start_connector(self, name: str, config: Config) -> None:
        text = config.get("start", "0")
        await self._call(0.0 if text == "raise" else float(text))
        if text == "raise":
            raise HostError("other", "start() raises", "trace")
        self._started[name] = dict(config)

    async def stop_connector(self, name: str) -> None:
        self._started.pop(name, None)
        await asyncio.sleep(self._loop.random.random() * 0.02)

    async def task_configs(self, name: str, max_tasks: int) -> list[dict[str, str]]:
        await self._call()
        config = self._started.get(name)
        if config is None:
            raise HostError(HOST_DIED, "The connector is not started", "trace")
        return task_configs(config, max_tasks)

    async def alter_source_offsets(self, config: Config, offsets: Sequence[Any]) -> bool:
        await self._call()
        return True

    async def alter_sink_offsets(self, config: Config, offsets: Sequence[Any]) -> bool:
        await self._call()
        return True


def task_configs(config: Config, max_tasks: int) -> list[dict[str, str]]:
    """The partitions of a connector, divided among its tasks."""
    parts, shift = int(config["parts"]), int(config.get("shift", "0"))
    tasks = min(parts, max_tasks)
    kept = {key: config[key] for key in ("topic", "version", "topics", "fails") if key in config}
    return [
        {**kept, "task.class": "T", "parts": ",".join(str(p) for p in range(parts) if (p + shift) % tasks == number)}
        for number in range(tasks)
    ]


def _entry(name: str, value: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name, "value": value, "recommended_values": [], "errors": [], "visible": True}
    return {"definition": None, "value": found}

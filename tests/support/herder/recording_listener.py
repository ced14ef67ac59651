"""A listener of plugin hosts that records their reports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Offset = Mapping[str, Any] | None


class RecordingListener:
    """A HostListener. `offset`: the committed offset of a connector's source partition."""

    def __init__(self, offset: Callable[[str, str], Offset] = lambda connector, partition: None) -> None:
        self._offset = offset
        self.reconfigured: list[str] = []
        self.failed: dict[str, str] = {}
        self.lost: dict[str, str] = {}
        self.metrics: dict[str, Sequence[Sequence[Any]]] = {}
        self.changed = asyncio.Event()

    def reconfigure(self, connector: str) -> None:
        self.reconfigured.append(connector)
        self.changed.set()

    def connector_failed(self, connector: str, trace: str) -> None:
        self.failed[connector] = trace
        self.changed.set()

    def connector_metrics(self, connector: str, metrics: Sequence[Sequence[Any]]) -> None:
        self.metrics[connector] = metrics
        self.changed.set()

    def connectors_lost(self, connectors: Sequence[str], reason: str) -> None:
        self.lost |= dict.fromkeys(connectors, reason)
        self.changed.set()

    async def connector_offsets(self, connector: str, partitions: Sequence[str]) -> list[Offset]:
        return [self._offset(connector, partition) for partition in partitions]

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not condition():
                await self.changed.wait()
                self.changed.clear()

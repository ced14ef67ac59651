"""What the stores stand on: logs of keyed records, kept in Kafka or on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from runtime.kafka.log.log import Apply, TopicSpec, Written


class Log(Protocol):
    """One log. Event loop only."""

    @property
    def spec(self) -> TopicSpec: ...

    async def write_all(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Write records in this order and wait until they are applied."""

    def send(self, key: bytes, value: bytes | None) -> asyncio.Future[Written]:
        """Write a record without waiting; the result (partition, offset) may be ignored, failures are logged."""

    async def read_to_end(self) -> None:
        """Everything that was in the log at the call is applied."""


class LogOpener(Protocol):
    """What a store wants: a log of its own."""

    def open(self, spec: TopicSpec, apply: Apply) -> Log:
        """A log; before start(). `apply` gets its records in order, on the event loop."""


class Logs(LogOpener, Protocol):
    """The logs of one worker. Event loop only."""

    @property
    def cluster_id(self) -> str: ...

    @property
    def error(self) -> str:
        """Why Kafka cannot be reached; empty while it can."""

    async def start(self) -> None:
        """Wait for Kafka as long as it takes, then apply all that is in the logs."""

    async def close(self) -> None: ...

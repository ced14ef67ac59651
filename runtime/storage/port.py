"""Interfaces of the logs on which stores are built: keyed records, in Kafka or on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from runtime.kafka.log.log import Apply, Awaited, TopicSpec, Written
from runtime.kafka.log.transactional_writer import TransactionalWriter


class Log(Protocol):
    """One log. Event loop only."""

    @property
    def spec(self) -> TopicSpec: ...

    async def write_all(
        self, records: Sequence[tuple[bytes, bytes | None]], writer: TransactionalWriter | None = None
    ) -> None:
        """Write records in this order and wait until they are applied. With a writer: in one of its transactions."""

    def send(self, key: bytes, value: bytes | None) -> asyncio.Future[Written]:
        """Write a record without waiting; the result (partition, offset) may be ignored, failures are logged."""

    async def write_acknowledged(
        self, records: Sequence[tuple[bytes, bytes | None]], writer: TransactionalWriter | None = None
    ) -> None:
        """As write_all(), without waiting for open transactions of other writers: `apply` may receive older records of
        a key afterwards."""

    async def read_to_end(self, awaited: Awaited | None = None) -> None:
        """Wait until all records are applied that were in the log when this was called; with `awaited`, also those
        behind open transactions, and those in open transactions that contain awaited records."""


class LogOpener(Protocol):
    """Opens the logs of stores."""

    def open(self, spec: TopicSpec, apply: Apply) -> Log:
        """Open a log; call before start(). `apply` receives the records in order, on the event loop."""


class Logs(LogOpener, Protocol):
    """The logs of one worker. Event loop only."""

    @property
    def cluster_id(self) -> str:
        """The id of the Kafka cluster; empty until the cluster has answered."""

    @property
    def error(self) -> str:
        """The reason why Kafka cannot be reached; empty while Kafka answers."""

    async def start(self) -> None:
        """Wait for Kafka without a time limit, then apply all records of the logs."""

    async def close(self) -> None:
        """Close all logs."""

"""Interfaces of the logs on which stores are built: keyed records, in Kafka or on this machine; their JSON."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from typing import Any, Protocol

from runtime.kafka.log.log import Apply, Awaited, LogRecord, TopicSpec, Written
from runtime.kafka.log.transactional_writer import TransactionalWriter


class MalformedRecord(Exception):
    """The record has a format that no Connect worker writes."""


def json_object(value: bytes | None) -> dict[str, Any] | None:
    """A record's value: a JSON object, or None for a tombstone (or a JSON null)."""
    parsed = json_value(value)
    if parsed is not None and not isinstance(parsed, dict):
        raise MalformedRecord("the value is not a JSON object")
    return parsed


def json_value(data: bytes | None) -> Any:
    """The JSON value in a key or value, None for an absent key or value; MalformedRecord if it is not JSON."""
    if data is None:
        return None
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError):
        raise MalformedRecord("not JSON") from None


def log_skipped(log: logging.Logger, topic: str, record: LogRecord, why: MalformedRecord) -> None:
    log.warning("Ignoring the record at offset %d of %s-%d: %s", record.offset, topic, record.partition, why)


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

"""Reads of committed offsets that source connectors request from the worker."""

from __future__ import annotations

import itertools
import queue
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api.errors import ConnectError
from runtime.api.task import Offset, Partition
from runtime.kafka.formats import canonical

_TIMEOUT = 900.0
"""Seconds: Kafka's limit for the duration of a transaction, for whose end the worker waits."""

Answer = tuple[Sequence[Mapping[str, Any] | None], str | None]


class HostOffsetRequests:
    """The requests of all connectors of the host that have not been answered. Thread-safe."""

    def __init__(self, send: Any) -> None:
        """`send` sends a message to the worker."""
        self._send = send
        self._numbers = itertools.count(1)
        self._waiting: dict[int, queue.SimpleQueue[Answer]] = {}

    def read(self, connector: str, partitions: Sequence[Partition]) -> Sequence[Offset | None]:
        """The committed offset of each partition. ConnectError if they cannot be read, DataError if a partition is not
        JSON."""
        number, answers = next(self._numbers), queue.SimpleQueue[Answer]()
        self._waiting[number] = answers
        try:
            wanted = [canonical(partition) for partition in partitions]
            self._send({"event": "read_offsets", "connector": connector, "number": number, "partitions": wanted})
            offsets, error = answers.get(timeout=_TIMEOUT)
        except queue.Empty:
            offsets, error = (), "the worker has not responded"
        finally:
            del self._waiting[number]
        if error is not None:
            raise ConnectError(f"The committed offsets could not be read: {error}")
        return offsets

    def answered(self, number: int, offsets: Sequence[Mapping[str, Any] | None], error: str | None) -> None:
        """The worker has read these offsets, or could not."""
        if (answers := self._waiting.get(number)) is not None:
            answers.put((offsets, error))


class ConnectorOffsetReader:
    """The OffsetReader of one source connector."""

    def __init__(self, connector: str, requests: HostOffsetRequests) -> None:
        self._connector, self._requests = connector, requests

    def offset(self, partition: Partition) -> Offset | None:
        """The committed offset of a source partition; None if it has none."""
        return self.offsets([partition])[0]

    def offsets(self, partitions: Sequence[Partition]) -> list[Offset | None]:
        """The committed offset of each of these source partitions, in their order."""
        return list(self._requests.read(self._connector, partitions)) if partitions else []

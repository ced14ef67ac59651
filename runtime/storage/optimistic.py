"""Writes that are applied before Kafka confirms them, and their order relative to records read from the topic."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from runtime.kafka.log.log import LogRecord, Written

Send = Callable[[bytes, "bytes | None"], "asyncio.Future[Written]"]
Take = Callable[[bytes, "bytes | None"], None]
Apply = Callable[[Sequence[LogRecord]], None]
Refused = Callable[[bytes, "bytes | None", BaseException], None]


@dataclass(slots=True)
class _OwnWrites:
    """Our writes of one key that have not all been read back."""

    in_flight: int = 0
    offset: int = -1  # of the last confirmed write
    value: bytes | None = None  # of the last write
    refusal: BaseException | None = None  # of any of them
    newest: LogRecord | None = None  # read while a write was in flight: our own or another worker's
    read_back: asyncio.Future[None] | None = None  # of those who wait


class OptimisticWrites:
    """Applies writes at once. The topic's order is final: a record from the topic is applied only if it follows our
    last write of its key. Event loop only."""

    def __init__(self, send: Send, take: Take, apply: Apply, refused: Refused) -> None:
        """`take` applies a write of ours, `apply` records that were read while a write was in flight. `refused` gets a
        write that may not be in the topic, with the error, unless another worker has written the key since."""
        self._send, self._take, self._apply, self._refused = send, take, apply, refused
        self._own: dict[bytes, _OwnWrites] = {}

    def write(self, key: bytes, value: bytes | None) -> None:
        """Apply and send a record."""
        self._take(key, value)
        own = self._own.setdefault(key, _OwnWrites())
        own.in_flight, own.value = own.in_flight + 1, value
        self._send(key, value).add_done_callback(lambda done: self._written(key, own, done))

    async def read_back(self, keys: Iterable[bytes], within: float) -> None:
        """Wait until our writes of these keys have been read from the topic, so that other workers can read them, too;
        at most `within` seconds."""
        loop = asyncio.get_running_loop()
        waiting = []
        for own in (self._own[key] for key in keys if key in self._own):
            own.read_back = own.read_back or loop.create_future()
            waiting.append(own.read_back)
        if waiting:
            await asyncio.wait(waiting, timeout=within)

    def superseded(self, record: LogRecord) -> bool:
        """Whether a record that was read must not be applied, or not yet."""
        key = record.key or b""
        own = self._own.get(key)
        if own is None:
            return False
        if own.in_flight:
            own.newest = record
            return True
        if record.offset >= own.offset:
            self._forget(key)
        return record.offset <= own.offset

    def _written(self, key: bytes, own: _OwnWrites, done: asyncio.Future[Written]) -> None:
        own.in_flight -= 1
        refusal = None if done.cancelled() else done.exception()
        if refusal is not None:
            own.refusal = refusal
        elif not done.cancelled():
            own.offset = max(own.offset, done.result()[1])
        newest = own.newest
        if own.in_flight or self._own.get(key) is not own:
            return
        if own.offset < 0 or (newest is not None and newest.offset >= own.offset):
            self._forget(key)
        if newest is not None and newest.offset > own.offset:
            self._apply([newest])
        elif own.refusal is not None:
            self._refused(key, own.value, own.refusal)

    def _forget(self, key: bytes) -> None:
        waiting = self._own.pop(key).read_back
        if waiting is not None:
            waiting.set_result(None)

"""In-memory storage logs whose writes can be delayed, and which can fail or lose their broker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from runtime.kafka.errors import BrokerUnavailable, StorageTopicError
from runtime.kafka.log.log import Apply, Awaited, TopicSpec, Written
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.storage.file_logs import MemoryLog

Record = tuple[bytes, "bytes | None"]


class TestLog(MemoryLog):
    """One log. `written` has every record; writes of keys that contain `held` wait for `may_go`."""

    __test__ = False

    def __init__(self, spec: TopicSpec, apply: Apply) -> None:
        super().__init__(spec, apply)
        self.held, self.holding, self.may_go = b"", asyncio.Event(), asyncio.Event()
        self.away = False
        self.lost = ""  # why reading fails
        self.failure: Callable[[bytes, bytes | None], Exception | None] = lambda key, value: None
        """The error of a write, if it fails."""
        self.refusal: Callable[[], Exception | None] = lambda: None
        """The error of the next record that is sent, if it is refused."""
        self.queued: list[Record] = []  # unanswered, as in the producer's queue
        self.refused = 0  # writes that failed because the broker was unavailable
        self.written: list[Record] = []
        self.in_transactions: list[bytes] = []  # keys of records that a transactional writer has written

    async def write_all(self, records: Sequence[Record], writer: TransactionalWriter | None = None) -> None:
        if self.away:
            self.queued += records
            self.refused += 1
            raise BrokerUnavailable("no answer")
        for key, value in records:
            if failure := self.failure(key, value):
                raise failure
        if self.held and any(self.held in key for key, _ in records):
            self.holding.set()
            await self.may_go.wait()
        self.in_transactions += [key for key, _ in records] if writer is not None else []
        await super().write_all([*self.queued, *records])
        self.queued = []

    async def read_to_end(self, awaited: Awaited | None = None) -> None:
        if self.lost:
            raise StorageTopicError(self.lost)

    def send(self, key: bytes, value: bytes | None) -> asyncio.Future[Written]:
        if (refusal := self.refusal()) is not None:
            refused: asyncio.Future[Written] = asyncio.get_running_loop().create_future()
            refused.set_exception(refusal)
            return refused
        if self.held and self.held in key:
            return asyncio.ensure_future(self._send_later(key, value))
        return super().send(key, value)

    async def _send_later(self, key: bytes, value: bytes | None) -> Written:
        self.holding.set()
        await self.may_go.wait()
        return await super().send(key, value)

    def _append(self, records: Sequence[tuple[bytes | None, bytes | None]]) -> None:
        self.written += [(key or b"", value) for key, value in records]
        super()._append(records)


class TestLogs:
    """Opens logs, and keeps them by topic."""

    __test__ = False

    def __init__(self) -> None:
        self.by_topic: dict[str, TestLog] = {}

    def open(self, spec: TopicSpec, apply: Apply) -> TestLog:
        return self.by_topic.setdefault(spec.topic, TestLog(spec, apply))


def topic(name: str) -> TopicSpec:
    return TopicSpec(name, 1, 1, name, single=True)

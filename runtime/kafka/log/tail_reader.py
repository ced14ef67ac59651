"""Reads topics to their uncommitted ends: records behind open transactions, without waiting for transactions that do
not concern the reader."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from runtime.kafka.errors import TransactionOpen
from runtime.kafka.log.open_tail import Awaited, OpenTail, OpenTransaction
from runtime.kafka.log.reader import LogRecord, Position
from runtime.kafka.log.tail_fetch import FetchedTail
from runtime.kafka.request_batcher import RequestBatcher

_log = logging.getLogger(__name__)

MAX_WAIT = 75.0
"""Seconds to wait for open transactions: coordinators check every 10 seconds for transactions to abort, which are by
default those that have been open for 60 seconds."""

_COMMIT_TIME = 0.05  # seconds that usually suffice for a commit in progress
_MAX_DELAY = 0.5  # seconds until a transaction is checked again
_LOG_AFTER = 1.0  # seconds of waiting without a log line


class Fetcher(Protocol):
    """Fetches tails; both calls block."""

    def fetch(self, starts: Mapping[Position, int]) -> Mapping[Position, FetchedTail]:
        """Everything from these offsets to the present high watermarks."""

    def transactional_ids(self, producer_ids: Collection[int]) -> Mapping[int, str]:
        """The transactional ids that are known, by producer id."""


@dataclass(frozen=True, slots=True)
class CommittedReader:
    """The reader of committed records, which the tail reader supplements."""

    position: Callable[[Position], int]  # the offset up to which a partition has been read
    reached: Callable[[Mapping[Position, int]], Awaitable[None]]  # waits until partitions are read to these offsets
    apply: Callable[[str, Sequence[LogRecord]], None]  # takes records of a topic, which will be read again later


class TailReader:
    """The tails of all topics that are read to their uncommitted ends. Event loop only."""

    def __init__(self, reader: CommittedReader, fetcher: Fetcher, max_wait: float = MAX_WAIT) -> None:
        """`max_wait`: seconds to wait for open transactions."""
        self._reader, self._fetcher, self._max_wait = reader, fetcher, max_wait
        self._tails: dict[Position, OpenTail] = {}
        self._parts: RequestBatcher[Position, None] = RequestBatcher(self._read_parts)

    async def read(self, ends: Mapping[Position, int], awaited: Awaited) -> None:
        """Apply all records below these offsets (high watermarks) that are committed or written without a transaction.
        Waits for the end of open transactions that contain awaited records; other open transactions are ignored.

        TransactionOpen after `max_wait` seconds, BrokerUnavailable if Kafka does not respond."""
        self._forget_finished()
        if await self._reached(ends, 0 if self._tails.keys() >= self._left(ends).keys() else _COMMIT_TIME):
            return
        limit = self._max_wait if awaited.within is None else awaited.within
        wait = _Wait(awaited, self._fetcher, limit)
        while True:
            left = self._left(ends)
            await asyncio.gather(*(self._parts.get(at) for at, end in left.items() if self._unread(at, end, awaited)))
            open_ones = {
                at: transactions for at, end in left.items() if (transactions := self._open_with(at, awaited, end))
            }
            if not open_ones:
                return
            await wait.check(open_ones)
            if await self._reached({at: ends[at] for at in open_ones}, wait.delay()):
                return

    def _left(self, ends: Mapping[Position, int]) -> dict[Position, int]:
        """The partitions of which committed records have not been read to these offsets."""
        return {at: end for at, end in ends.items() if self._reader.position(at) < end}

    def _unread(self, at: Position, end: int, awaited: Awaited) -> bool:
        """Whether records below `end`, or the ends of awaited transactions, may not have been fetched."""
        tail = self._tails.get(at)
        return tail is None or tail.position < end or bool(tail.open_with(awaited, end))

    async def _reached(self, ends: Mapping[Position, int], seconds: float) -> bool:
        """Whether committed records are read to these offsets within this time."""
        try:
            async with asyncio.timeout(seconds):
                await self._reader.reached(ends)
        except TimeoutError:
            return False
        return True

    async def _read_parts(self, partitions: Sequence[Position]) -> Mapping[Position, None]:
        tails = {at: self._tail(at) for at in partitions}
        starts = {at: tail.position for at, tail in tails.items()}
        try:
            fetched = await asyncio.to_thread(self._fetcher.fetch, starts)
        except BaseException:
            for at in partitions:  # the offsets may no longer exist
                self._tails.pop(at, None)
            raise
        for at, part in fetched.items():
            if readable := tails[at].add(part.batches, part.records):
                self._reader.apply(at[0], readable)
        return dict.fromkeys(partitions)

    def _tail(self, at: Position) -> OpenTail:
        position = self._reader.position(at)
        tail = self._tails.get(at)
        if tail is None or tail.position < position:
            tail = self._tails[at] = OpenTail(position)
        return tail

    def _open_with(self, at: Position, awaited: Awaited, before: int) -> list[OpenTransaction]:
        tail = self._tails.get(at)
        return [] if tail is None else tail.open_with(awaited, before)

    def _forget_finished(self) -> None:
        """Forget tails that the reader of committed records has passed."""
        self._tails = {at: tail for at, tail in self._tails.items() if self._reader.position(at) < tail.position}


class _Wait:
    """One reader's wait for open transactions: logged once, and limited."""

    def __init__(self, awaited: Awaited, fetcher: Fetcher, seconds: float) -> None:
        self._awaited, self._fetcher, self._limit = awaited, fetcher, seconds
        self._started = time.monotonic()
        self._delay = _COMMIT_TIME
        self._logged = False

    def delay(self) -> float:
        """Seconds until the transactions are checked again."""
        self._delay = min(self._delay * 2, _MAX_DELAY)
        return self._delay

    async def check(self, open_transactions: Mapping[Position, Sequence[OpenTransaction]]) -> None:
        """TransactionOpen after the limit; a log line before."""
        waited = time.monotonic() - self._started
        if waited >= self._limit:
            raise TransactionOpen(
                f"{self._awaited.what} cannot be read: {await self._describe(open_transactions)} has not ended within "
                f"{self._limit:g} seconds; wait for its end, or abort it with kafka-transactions.sh"
            )
        if waited >= _LOG_AFTER and not self._logged:
            self._logged = True
            _log.info(
                "Reading %s: waiting for the end of %s", self._awaited.what, await self._describe(open_transactions)
            )

    async def _describe(self, open_transactions: Mapping[Position, Sequence[OpenTransaction]]) -> str:
        (topic, partition), transactions = next(iter(open_transactions.items()))
        first = transactions[0]
        names = await asyncio.to_thread(self._fetcher.transactional_ids, [first.producer_id])
        named = f"transactional id {names[first.producer_id]}, " if first.producer_id in names else ""
        return (
            f"an open transaction in topic {topic} ({named}producer id {first.producer_id}, partition {partition} from "
            f"offset {first.first})"
        )

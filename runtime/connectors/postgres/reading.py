"""The task of PostgresCdcSource: snapshot, then stream, through losses of the connection."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Protocol

from runtime.api.data.record import SourceRecord
from runtime.api.errors import ConnectError, RetriableError
from runtime.api.task import Offset, OffsetReader, Partition, TransactionContext
from runtime.connectors.postgres.catalog import quoted
from runtime.connectors.postgres.changes import ChangeReplay
from runtime.connectors.postgres.definition import HEARTBEAT_QUERY, CdcSettings
from runtime.connectors.postgres.events import ChangeEvents
from runtime.connectors.postgres.modes import SnapshotMode
from runtime.connectors.postgres.offsets import LogPosition, position_of
from runtime.connectors.postgres.readers import TableReaders
from runtime.connectors.postgres.selection import TableSelection
from runtime.connectors.postgres.session import Session
from runtime.connectors.postgres.setup import (
    ReplicationSlot,
    creating_slot,
    ensure_publication,
    log_end,
    problems,
    read_slot,
)
from runtime.connectors.postgres.snapshot import Snapshot
from runtime.connectors.postgres.streaming import StreamThread
from runtime.connectors.postgres.views import SnapshotProgress
from runtime.connectors.postgres.wire.lsn import lsn_text
from runtime.connectors.postgres.wire.replication import Data, Keepalive, ReplicationConnection

_log = logging.getLogger(__name__)
_WARNING_INTERVAL = 60.0  # seconds between warnings of heartbeats

_IN_USE = "is active for PID"
_VERSION = 1  # of pgoutput's protocol

_PAUSE = 0.25  # seconds after which a poll returns the records that it has

Steps = Generator[Sequence[SourceRecord] | None, None, None]


class CdcServices(Protocol):
    """What the worker offers to the task."""

    @property
    def offsets(self) -> OffsetReader: ...

    @property
    def transactions(self) -> TransactionContext | None: ...

    def wake(self) -> None: ...

    def add_offsets(self, offsets: Sequence[tuple[Partition, Offset]]) -> None: ...


class ChangeReads:
    """All steps from the connection to the records, as one generator, which starts again after an error that may
    pass."""

    def __init__(
        self, settings: CdcSettings, worker: CdcServices, version: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`version` is the value of `source.version`; `clock` is in seconds."""
        self._settings, self._worker, self._clock = settings, worker, clock
        self._events = ChangeEvents(settings, version)
        self._session = Session(settings.server)
        self._readers = TableReaders(settings, self._session, TableSelection(settings.filters))
        self._partition = self._events.partition
        self._position = position_of(worker.offsets.offset(self._partition))
        self._always = settings.snapshot is SnapshotMode.ALWAYS
        self._stream: StreamThread | None = None
        self._left: deque[Data | Keepalive] = deque()  # messages that were taken and not processed yet
        self._is_open = False  # records of an unfinished transaction were returned
        self._steps: Steps | None = None
        self._failures, self._next_attempt = 0, 0.0
        self._slot_failures = 0
        self._committed_read = 0.0
        self._next_heartbeat = self._next_offset = self._next_warning = clock()
        self._added = -1  # the position of the last offset without a record

    def poll(self) -> Sequence[SourceRecord] | None:
        """The next records; None if there are none now. RetriableError if the server is not available."""
        if self._clock() < self._next_attempt:
            return None
        if self._steps is None:
            self._steps = self._run()
        try:
            records = next(self._steps)
        except RetriableError as error:
            self._disconnect()
            self._count_failure(error)
            raise
        except StopIteration:
            return None
        if records:
            self._failures = self._slot_failures = 0
        return records

    def committed(self) -> None:
        """Offsets were committed: the server may discard the changes before them."""
        now = self._clock()
        if self._stream is None or now - self._committed_read < self._settings.status_interval:
            return
        self._committed_read = now
        position = position_of(self._worker.offsets.offset(self._partition))
        if position is not None:
            self._stream.confirm(position.commit)

    def close(self) -> None:
        """Ends all connections; drops the slot if the options say so."""
        self._disconnect()
        if self._settings.drop_slot:
            try:
                self._session.query("SELECT pg_drop_replication_slot(%s)", self._settings.slot)
            except ConnectError as error:
                _log.warning("The slot was not dropped: %s", error)
            self._session.close()

    def _disconnect(self) -> None:
        steps, self._steps = self._steps, None
        if steps is not None:
            steps.close()
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.stop()
        self._left.clear()
        self._session.close()

    def _count_failure(self, error: RetriableError) -> None:
        """Sets the time of the next attempt; ConnectError if there were too many."""
        settings, text = self._settings, str(error)
        if _IN_USE in text:
            self._slot_failures += 1
            if self._slot_failures > settings.slot_retries:
                raise ConnectError(
                    f"{text}. Another connector or program reads the slot: stop it, or set another slot.name"
                ) from None
            self._next_attempt = self._clock() + settings.slot_delay
            return
        self._failures += 1
        if 0 <= settings.retries < self._failures:
            raise ConnectError(f"{text} ({self._failures} attempts, errors.max.retries={settings.retries})") from None
        self._next_attempt = self._clock() + settings.retry_delay

    def _run(self) -> Steps:
        slot = self._checked_slot()
        if slot is None:
            for _ in creating_slot(self._session, self._settings.slot):
                yield None
            slot = read_slot(self._session.query, self._settings.slot)
            if slot is None:
                raise RetriableError(f"The slot {self._settings.slot} has disappeared")
        if self._position is None:
            # A snapshot that is interrupted before its first row is still to be read in the next attempt
            unread = SnapshotProgress((), False) if self._settings.snapshot.reads else None
            self._position = LogPosition(slot.confirmed, None, unread)
        elif self._always:
            self._position = LogPosition(self._position.commit, self._position.last)
        progress = self._position.progress
        if self._always or (progress is not None and not progress.is_complete):
            yield from self._snapshot()
        self._always = False
        if self._settings.snapshot is SnapshotMode.INITIAL_ONLY:
            self._add_offset(self._position)
            _log.info("snapshot.mode is initial_only: nothing is left to read")
            while True:
                yield None
        yield from self._changes()

    def _checked_slot(self) -> ReplicationSlot | None:
        """The slot, after checks; None if it must be created."""
        query = self._session.query
        for problem in problems(self._settings, query):
            raise ConnectError(problem.text)
        ensure_publication(self._settings, self._session)
        slot, position = read_slot(query, self._settings.slot), self._position
        self._check_end(slot)
        if position is None or slot is None:
            if position is not None and not self._settings.drop_slot:
                raise ConnectError(
                    f"The slot {self._settings.slot} does not exist any more, so that changes since "
                    f"{lsn_text(position.commit)} may be lost: reset the connector's offsets to take a new snapshot"
                )
            return slot
        if slot.confirmed > position.commit:
            raise ConnectError(
                f"The server has discarded changes: the committed offset is {lsn_text(position.commit)}, and the slot "
                f"{self._settings.slot} starts at {lsn_text(slot.confirmed)}. Reset the connector's offsets to take a "
                f"new snapshot, or accept the gap by setting lsn_commit to {slot.confirmed}"
            )
        return slot

    def _check_end(self, slot: ReplicationSlot | None) -> None:
        """ConnectError for positions beyond the end of the server's log, as after a typing error, or on a server that
        was restored: no change would be read until the log gets there, and the slot would discard all of them."""
        end = log_end(self._session.query)
        if self._position is not None and self._position.commit > end:
            raise ConnectError(
                f"The committed offset is {lsn_text(self._position.commit)}, and the server's log ends at "
                f"{lsn_text(end)}: set lsn_commit to a position in its log, at most {end}, or reset the connector's "
                "offsets to take a new snapshot"
            )
        if slot is not None and slot.confirmed > end:
            raise ConnectError(
                f"The slot {self._settings.slot} starts at {lsn_text(slot.confirmed)}, and the server's log ends at "
                f"{lsn_text(end)}: run SELECT pg_drop_replication_slot('{self._settings.slot}'), and reset the "
                "connector's offsets to take a new snapshot"
            )

    def _snapshot(self) -> Steps:
        assert self._position is not None
        snapshot = Snapshot(self._settings, self._session, self._events, self._readers, self._position)
        start, transactions = self._position, self._worker.transactions
        try:
            for batch in snapshot.batches():
                self._position = snapshot.position()
                yield batch
        except RetriableError:
            if transactions is not None and self._position is not start:
                self._position = start  # the table in which it was would be in the transaction twice
                self._add_offset(start)
                transactions.abort()
            raise
        self._position = snapshot.position()
        self._add_offset(self._position)
        if transactions is not None:
            transactions.commit()

    def _changes(self) -> Steps:
        settings, position = self._settings, self._position
        assert position is not None
        changes = ChangeReplay(settings, self._events, self._readers.of_relation, position)
        options = {"proto_version": str(_VERSION), "publication_names": quoted(settings.publication)}
        parameters = settings.server.parameters(replication=True)
        stream = self._stream = StreamThread(
            lambda: ReplicationConnection(parameters), settings.slot, position.commit, options, self._worker.wake
        )
        while True:
            records, ended = self._fill(changes, stream)
            if changes.is_between:
                self._position = changes.completed
            elif records:
                self._position = position_of(records[-1].source_offset)
            if not records and changes.is_between:
                self._offer_offset(changes.completed)
            yield from self._in_transactions(records, ended)
            if changes.is_between:
                yield from self._heartbeat(changes.completed)

    def _fill(self, changes: ChangeReplay, stream: StreamThread) -> tuple[list[SourceRecord], int | None]:
        """The records of what has arrived, about a batch; with the number of those before the end of the last
        transaction that has ended, if one has."""
        ended, until = None, self._clock() + _PAUSE
        while len(changes) < self._settings.batch and self._clock() < until:
            if not self._left:
                self._left.extend(stream.take())
                if not self._left:
                    break
            message = self._left.popleft()
            if not isinstance(message, Data):
                changes.advanced(message.lsn)
            elif changes.add(message):
                ended = len(changes)
        return changes.take(), ended

    def _in_transactions(self, records: list[SourceRecord], ended: int | None) -> Steps:
        """With `transaction.boundary=connector`, a transaction in Kafka ends where one of PostgreSQL does."""
        transactions = self._worker.transactions
        if transactions is not None and ended is not None:
            if ended:
                transactions.commit(records[ended - 1])
            elif self._is_open:
                transactions.commit()
                yield None  # before the records of the next transaction
            self._is_open = False
        if records:
            self._is_open = self._is_open or ended is None or ended < len(records)
            yield records
        elif transactions is None or ended is None:
            yield None

    def _offer_offset(self, position: LogPosition) -> None:
        """Commits a position behind which nothing was of interest, so that the server can discard its log."""
        now = self._clock()
        if now >= self._next_offset and position.commit > self._added:
            self._next_offset = now + self._settings.status_interval
            self._add_offset(position)
            if self._worker.transactions is not None:
                self._worker.transactions.commit()

    def _add_offset(self, position: LogPosition) -> None:
        self._added = position.commit
        self._worker.add_offsets([(self._partition, position.offset())])

    def _heartbeat(self, position: LogPosition) -> Steps:
        interval, now = self._settings.heartbeat, self._clock()
        if interval and now >= self._next_heartbeat:
            self._next_heartbeat = now + interval
            if self._settings.heartbeat_query:
                self._run_heartbeat_query(now)
            beat = self._events.heartbeat(position.offset())
            if self._worker.transactions is not None:
                self._worker.transactions.commit(beat)
            yield [beat]

    def _run_heartbeat_query(self, now: float) -> None:
        """A failure does not end the stream, which notices itself if the server is gone."""
        try:
            self._session.query(self._settings.heartbeat_query)
        except ConnectError as error:
            self._session.close()  # a transaction that the query has begun must not stay open
            if now >= self._next_warning:
                self._next_warning = now + _WARNING_INTERVAL
                _log.warning("The query of %s failed: %s", HEARTBEAT_QUERY, error)

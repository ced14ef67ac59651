"""The messages of the stream as records, transaction by transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from runtime.api.data.record import ErrantSourceRecord, SourceRecord
from runtime.api.errors import ConnectError, DataError
from runtime.api.task import Offset
from runtime.connectors.postgres.definition import CdcSettings
from runtime.connectors.postgres.events import NEW_KEY, OLD_KEY, ChangeEvents, TransactionSource, key_header
from runtime.connectors.postgres.offsets import COMMIT, EVENT, LSN, MICROS, XID, LogPosition, with_progress
from runtime.connectors.postgres.tables import RowReader
from runtime.connectors.postgres.wire.pgoutput import (
    Begin,
    Change,
    Commit,
    Relation,
    ReplicationOrigin,
    Truncate,
    decode,
)
from runtime.connectors.postgres.wire.replication import Data

_PER_CHANGE = 4  # numbers of a change: delete, tombstone and create of a row whose key was changed
_OPERATIONS = {"I": "c", "U": "u", "D": "d"}
ReaderOf = Callable[[Relation], RowReader | None]


class ChangeReplay:
    """Keeps the state of the open transaction. Records up to the position with which it was made are left out."""

    def __init__(self, settings: CdcSettings, events: ChangeEvents, reader_of: ReaderOf, position: LogPosition) -> None:
        self._settings, self._events, self._reader_of = settings, events, reader_of
        self._readers: dict[int, RowReader | None] = {}
        self._resumed = position
        self._progress = position.progress
        self.completed = position
        """Behind the last transaction of which everything was returned; the transaction of the resumed position until
        then."""
        self._open: Begin | None = None
        self._source = TransactionSource(0, 0, None)
        self._before: int | None = position.commit or None
        self._records: list[SourceRecord] = []
        self._skipped_to: tuple[int, int] | None = None
        self._lsn, self._event = -1, 0
        self._counts: dict[str, int] = defaultdict(int)
        self._began_at = 0
        self._check_view = False

    @property
    def is_between(self) -> bool:
        """Whether no transaction is open."""
        return self._open is None

    def take(self) -> list[SourceRecord]:
        """The records since the last call."""
        records, self._records = self._records, []
        return records

    def __len__(self) -> int:
        return len(self._records)

    def advanced(self, lsn: int) -> None:
        """The server has nothing to send before this position (keepalive)."""
        if self._open is None and lsn > self.completed.commit:
            self.completed = LogPosition(lsn, None, self._needed(lsn))

    def add(self, data: Data) -> bool:
        """Processes a message; whether it was the end of a transaction."""
        message = decode(data.message)
        if isinstance(message, Change):
            reader = self._reader(message.relation)
            if reader is not None:
                self._change(message, reader, data.lsn)
        elif isinstance(message, Begin):
            self._begin(message, data.lsn)
        elif isinstance(message, ReplicationOrigin):
            self._source = replace(self._source, origin=message)
        elif isinstance(message, Commit):
            self._commit(message)
            return True
        elif isinstance(message, Relation):
            self._readers[message.id] = self._reader_of(message)
        elif isinstance(message, Truncate):
            for relation in message.relations:
                if (reader := self._reader(relation)) is not None:
                    self._truncate(reader, data.lsn)
        return False

    def _reader(self, relation: int) -> RowReader | None:
        try:
            return self._readers[relation]
        except KeyError:
            raise ConnectError(f"PostgreSQL has sent a change of the unknown relation {relation}") from None

    def _begin(self, begin: Begin, lsn: int) -> None:
        self._open, self._began_at = begin, lsn
        self._source = TransactionSource(begin.xid, begin.micros, self._before)
        resumed = self._resumed
        self._skipped_to = resumed.last if begin.lsn == resumed.commit else None
        self._progress = self._needed(begin.lsn)
        self._check_view = self._progress is not None
        self._lsn, self._event = -1, 0
        self._counts.clear()

    def _needed(self, lsn: int) -> Any:
        """What the snapshot has read, if it matters behind this position."""
        return self._progress if self._progress is not None and lsn < self._progress.until else None

    def _commit(self, commit: Commit) -> None:
        if self._settings.transactions and self._counts:
            begin = self._open
            assert begin is not None
            offset, counts = self._offset(commit.end, 0), dict(self._counts)
            end = self._events.transaction("END", begin.xid, commit.end, begin.micros, offset, counts)
            self._add(end, commit.end, 0)
        self._open, self._before = None, commit.end
        self.completed = LogPosition(commit.end, None, self._needed(commit.end))

    def _next_event(self, lsn: int) -> int:
        """The first number of a change at this position."""
        self._event = self._event + _PER_CHANGE if lsn == self._lsn else _PER_CHANGE
        self._lsn = lsn
        return self._event

    def _offset(self, lsn: int, event: int) -> Offset:
        begin = self._open
        assert begin is not None
        offset: dict[str, Any] = {COMMIT: begin.lsn, LSN: lsn, EVENT: event, XID: begin.xid, MICROS: begin.micros}
        return offset if self._progress is None else with_progress(offset, self._progress)

    def _is_seen(self, reader: RowReader) -> bool:
        """Whether the snapshot of the table contains the changes of this transaction."""
        progress, begin = self._progress, self._open
        assert begin is not None
        return progress is not None and progress.has_read(reader.text, begin.xid)

    def _add(self, record: SourceRecord | None, lsn: int, event: int) -> None:
        if record is None:
            return
        skipped = self._skipped_to
        if skipped is None or (lsn, event) > skipped:
            self._records.append(record)

    def _change(self, change: Change, reader: RowReader, lsn: int) -> None:
        event = self._next_event(lsn)
        op = _OPERATIONS[change.kind]
        if op in self._settings.skipped or (self._check_view and self._is_seen(reader)):
            return
        try:
            self._row(change, reader, op, lsn, event)
        except DataError as error:
            offset = self._offset(lsn, event)
            self._add(ErrantSourceRecord(self._events.partition, offset, error), lsn, event)

    def _row(self, change: Change, reader: RowReader, op: str, lsn: int, event: int) -> None:
        old, new = change.old, change.new
        if old is not None and new is not None and change.is_complete:
            new = reader.completed(new, old)
        before = after = None
        if old is not None:
            before = reader.row(old) if change.is_complete else reader.identity(old)
        if new is not None:
            after = reader.row(new)
        if op == "u" and before is not None:
            assert after is not None
            was, key = reader.key(before), reader.key(after)
            if was != key:
                self._moved(reader, before, after, lsn, event)
                return
            if not change.is_complete:
                before = None
        row = after if after is not None else before
        assert row is not None
        key = reader.key(row)
        self._event_of(reader, op, key, before, after, lsn, event)
        if op == "d":
            self._add(self._events.tombstone(reader, key, self._offset(lsn, event + 1)), lsn, event + 1)

    def _moved(self, reader: RowReader, before: dict[str, Any], after: dict[str, Any], lsn: int, event: int) -> None:
        """A row whose key was changed: it is deleted under its old key and created under its new one."""
        old, new = reader.key(before), reader.key(after)
        schema = reader.key_schema
        self._event_of(reader, "d", old, before, None, lsn, event, key_header(NEW_KEY, schema, new))
        self._add(self._events.tombstone(
            reader, old, self._offset(lsn, event + 1), key_header(NEW_KEY, schema, new)), lsn, event + 1)  # fmt: skip
        self._event_of(reader, "c", new, None, after, lsn, event + 2, key_header(OLD_KEY, schema, old))

    def _truncate(self, reader: RowReader, lsn: int) -> None:
        event = self._next_event(lsn)
        if "t" not in self._settings.skipped and not (self._check_view and self._is_seen(reader)):
            self._event_of(reader, "t", None, None, None, lsn, event)

    def _event_of(self, reader: RowReader, op: str, key: Any, before: Any, after: Any, lsn: int, event: int,
                  headers: Any = None) -> None:  # fmt: skip
        transaction = self._transaction(reader, lsn) if self._settings.transactions else None
        source = self._events.source(reader, self._source, lsn)
        offset = self._offset(lsn, event)
        self._add(self._events.record(reader, op, key, before, after, source, offset, transaction, headers), lsn, event)

    def _transaction(self, reader: RowReader, lsn: int) -> dict[str, Any]:
        begin, at = self._open, self._began_at
        assert begin is not None
        if not self._counts:
            self._add(self._events.transaction("BEGIN", begin.xid, at, begin.micros, self._offset(at, 0)), at, 0)
        self._counts[reader.text] += 1
        total = sum(self._counts.values())
        return {
            "id": f"{begin.xid}:{lsn}",
            "total_order": total,
            "data_collection_order": self._counts[reader.text],
        }

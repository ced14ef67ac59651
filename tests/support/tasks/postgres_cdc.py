"""The task of PostgresCdcSource with a real server and without a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

from runtime.api.data.record import SourceRecord
from runtime.api.errors import RetriableError
from runtime.api.task import Offset, Partition
from runtime.connectors.postgres.connector import PostgresCdcSourceTask
from tests.support.servers.postgres import Postgres
from tests.support.waiting import wait_until

_numbers = count(1)


class Requests:
    """A TransactionContext that keeps what was requested: the record, or None."""

    def __init__(self) -> None:
        self.ends: list[SourceRecord | None] = []
        self.aborts = 0

    def commit(self, record: SourceRecord | None = None) -> None:
        self.ends.append(record)

    def abort(self, record: SourceRecord | None = None) -> None:
        self.aborts += 1


class Database:
    """A database of its own, whose slots are dropped at the end."""

    def __init__(self, server: Postgres) -> None:
        self.server, self.name = server, server.create_database(f"shop{next(_numbers)}")
        self.committed: Offset | None = None

    def execute(self, statement: str) -> list[tuple[Any, ...]]:
        return self.server.execute(statement, database=self.name)

    def config(self, **more: str) -> dict[str, str]:
        """A configuration; names in `more` have underscores in place of dots."""
        keys = {name.replace("_", "."): value for name, value in more.items()}
        return {
            **self.server.cdc_config(self.name),
            "topic.prefix": self.name,
            "status.update.interval.ms": "100",
            "retriable.restart.connector.wait.ms": "100",
            "slot.retry.delay.ms": "100",
            **keys,
        }

    @property
    def slot(self) -> str:
        return f"headrace_{self.name}"

    def confirmed(self) -> int:
        """The position to which the server may discard its log."""
        query = f"SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots WHERE slot_name = '{self.slot}'"
        return int(self.execute(query)[0][0])

    def cut_off(self, function: str = "pg_terminate_backend") -> None:
        """Ends the connections of the task to the server, or their statements with `pg_cancel_backend`."""
        self.execute(
            f"SELECT {function}(pid) FROM pg_stat_activity "
            f"WHERE datname = '{self.name}' AND application_name = 'headrace-cdc'"
        )

    def close(self) -> None:
        query = (
            "SELECT count(pg_drop_replication_slot(slot_name)) FROM pg_replication_slots "
            f"WHERE database = '{self.name}' AND NOT active"
        )
        left = f"SELECT 1 FROM pg_replication_slots WHERE database = '{self.name}'"
        wait_until(lambda: self.execute(query) and not self.execute(left), 20, "the slots are dropped", every=0.1)


class CdcRun:
    """A started task."""

    def __init__(self, database: Database, transactions: Requests | None = None, **more: str) -> None:
        self.database, self.transactions = database, transactions
        self.configs: Mapping[str, str] = {}
        self.records: list[SourceRecord] = []
        self.added: list[Offset] = []
        self.task = PostgresCdcSourceTask()
        self.task.context = self
        self.task.start(database.config(**more))

    @property
    def offsets(self) -> Any:
        return self

    def offset(self, partition: Partition) -> Offset | None:
        assert partition == {"server": self.database.name}
        return self.database.committed

    def wake(self) -> None:
        """poll() is called all the time."""

    def add_offsets(self, offsets: Sequence[tuple[Partition, Offset]]) -> None:
        self.added += [offset for _, offset in offsets]

    def request_commit(self) -> None:
        """Not used."""

    def poll(self) -> Sequence[SourceRecord]:
        """The records of a poll, which are kept too; none after an error that may pass."""
        try:
            records = self.task.poll() or []
        except RetriableError:
            return []
        self.records += records
        return records

    def until(self, done: Callable[[], bool], meaning: str = "records") -> list[SourceRecord]:
        """Polls until this is true; the records since the start."""
        wait_until(lambda: self.poll() is not None and done(), 30, meaning, every=0.0)
        return self.records

    def take(self, number: int) -> list[SourceRecord]:
        """The next records, of which there are exactly so many now."""
        before = len(self.records)
        self.until(lambda: len(self.records) >= before + number, f"{number} records")
        self.poll()
        taken = self.records[before:]
        assert len(taken) == number
        return taken

    def streaming(self) -> CdcRun:
        """After the snapshot."""
        assert self.task._reads is not None
        reads = self.task._reads
        self.until(lambda: reads._stream is not None, "the stream")
        return self

    def commit(self, record: SourceRecord | None = None) -> None:
        """Commits the offset of a record, by default of the last one or of what the task has added since."""
        if record is not None:
            self.database.committed = record.source_offset
        else:
            self.database.committed = self.added[-1] if self.added else self.records[-1].source_offset
        self.task.commit()

    def stop(self) -> None:
        self.task.stop()


def shown(record: SourceRecord) -> tuple[Any, ...]:
    """Table, operation, key and row of a record: the new row, or the old one of a deletion."""
    table = record.topic.rpartition(".")[2]
    key = tuple(record.key.values()) if record.key else ()
    if record.value is None:
        return table, None, key
    row = record.value["after"] or record.value["before"]
    return table, record.value["op"], key, row and tuple(row.values())

"""The messages of pgoutput, version 1 of its protocol, with values as text.

https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from runtime.api.errors import ConnectError


class Unchanged:
    """The type of UNCHANGED."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Final = Unchanged()
"""In place of a value that is stored outside of its row (TOAST) and was not changed by an update."""

Row = list["bytes | Unchanged | None"]
"""The texts of a row's columns; None is NULL."""

_EPOCH_MICROS = 946_684_800_000_000  # PostgreSQL counts from 2000-01-01
_BEGIN, _COMMIT, _COLUMN = struct.Struct("!qqI"), struct.Struct("!Bqqq"), struct.Struct("!Ii")
_SHORT, _INT = struct.Struct("!H"), struct.Struct("!I")
_RELATION = struct.Struct("!I")
_ORIGIN = struct.Struct("!q")
_TRUNCATE = struct.Struct("!IB")


@dataclass(frozen=True, slots=True)
class Begin:
    """The start of a transaction, of which `lsn` is the position of its commit. `micros` is the time of the commit,
    in microseconds since 1970."""

    lsn: int
    micros: int
    xid: int


@dataclass(frozen=True, slots=True)
class ReplicationOrigin:
    """The server from which the open transaction was replicated, and the position of its commit there."""

    lsn: int
    name: str


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of a transaction; `end` is the position behind it."""

    lsn: int
    end: int
    micros: int


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A column of a table. `in_identity`: whether it belongs to the replica identity."""

    name: str
    type: int
    modifier: int
    in_identity: bool


@dataclass(frozen=True, slots=True)
class Relation:
    """A table's columns; sent before its first change, and after each change of the table itself. `identity` is
    pg_class.relreplident: d, n, f or i."""

    id: int
    schema: str
    name: str
    identity: str
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A row that was inserted (I), updated (U) or deleted (D). `old` is the row before: complete if `is_complete`,
    otherwise it has only the columns of the replica identity; None if an update did not change those."""

    kind: str
    relation: int
    old: Row | None
    new: Row | None
    is_complete: bool = False


@dataclass(frozen=True, slots=True)
class Truncate:
    """Tables that were emptied."""

    relations: tuple[int, ...]


Message = Begin | ReplicationOrigin | Commit | Relation | Change | Truncate


def decode(data: bytes | memoryview) -> Message | None:
    """The message of these bytes; None for one that has no consequence here: a type, or a message of
    pg_logical_emit_message(). ConnectError for bytes that are no message of version 1."""
    kind = data[0]
    try:
        if kind == 0x49:  # I
            return Change("I", _INT.unpack_from(data, 1)[0], None, _row(data, 6)[0])
        if kind == 0x55:  # U
            return _update(data)
        if kind == 0x44:  # D
            old, _ = _row(data, 6)
            return Change("D", _INT.unpack_from(data, 1)[0], old, None, data[5] == 0x4F)
        if kind == 0x42:  # B
            lsn, micros, xid = _BEGIN.unpack_from(data, 1)
            return Begin(lsn, micros + _EPOCH_MICROS, xid)
        if kind == 0x4F:  # O
            return ReplicationOrigin(_ORIGIN.unpack_from(data, 1)[0], _text(bytes(data), 9)[0])
        if kind == 0x43:  # C
            _, lsn, end, micros = _COMMIT.unpack_from(data, 1)
            return Commit(lsn, end, micros + _EPOCH_MICROS)
        if kind == 0x52:  # R
            return _relation(bytes(data))
        if kind == 0x54:  # T
            count, _ = _TRUNCATE.unpack_from(data, 1)
            return Truncate(struct.unpack_from(f"!{count}I", data, 6))
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise ConnectError(f"PostgreSQL has sent an incomplete message of type {chr(kind)}: {error}") from None
    if kind in b"YM":
        return None
    raise ConnectError(f"PostgreSQL has sent a message of the unknown type {chr(kind)!r}")


def _update(data: bytes | memoryview) -> Change:
    relation, marker = _INT.unpack_from(data, 1)[0], data[5]
    if marker == 0x4E:  # N
        return Change("U", relation, None, _row(data, 6)[0])
    old, at = _row(data, 6)
    return Change("U", relation, old, _row(data, at + 1)[0], marker == 0x4F)


def _row(data: bytes | memoryview, at: int) -> tuple[Row, int]:
    """A row that starts at this index, and the index behind it."""
    (count,) = _SHORT.unpack_from(data, at)
    at += 2
    row: Row = []
    for _ in range(count):
        kind = data[at]
        if kind == 0x74:  # t
            start = at + 5
            at = start + _INT.unpack_from(data, at + 1)[0]
            row.append(bytes(data[start:at]))
            continue
        row.append(None if kind == 0x6E else UNCHANGED)
        at += 1
    if at > len(data):
        raise IndexError("a value is cut off")
    return row, at


def _relation(data: bytes) -> Relation:
    (relation,) = _RELATION.unpack_from(data, 1)
    schema, at = _text(data, 5)
    name, at = _text(data, at)
    identity = chr(data[at])
    (count,) = _SHORT.unpack_from(data, at + 1)
    at += 3
    columns = []
    for _ in range(count):
        flags = data[at]
        column, at = _text(data, at + 1)
        kind, modifier = _COLUMN.unpack_from(data, at)
        at += _COLUMN.size
        columns.append(RelationColumn(column, kind, modifier, bool(flags & 1)))
    return Relation(relation, schema or "pg_catalog", name, identity, tuple(columns))


def _text(data: bytes, at: int) -> tuple[str, int]:
    end = data.find(0, at)
    if end < 0:
        raise IndexError("a name is cut off")
    return data[at:end].decode(), end + 1

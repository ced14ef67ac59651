"""A connection that speaks the streaming replication protocol, over psycopg's access to libpq.

https://www.postgresql.org/docs/current/protocol-replication.html"""

from __future__ import annotations

import select
import struct
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from runtime.api.errors import ConnectError, RetriableError
from runtime.connectors.postgres.connection import may_pass
from runtime.connectors.postgres.wire.lsn import lsn_text

_DATA, _KEEPALIVE = struct.Struct("!qqq"), struct.Struct("!qqB")
_STATUS = struct.Struct("!cqqqqB")
_EPOCH_MICROS = 946_684_800_000_000


class Data(NamedTuple):
    """A message of pgoutput, and the position in the log of what it describes; 0 for the columns of a table."""

    lsn: int
    message: bytes


class Keepalive(NamedTuple):
    """The server's position, to which it has sent everything."""

    lsn: int
    wants_reply: bool


class ReplicationConnection:
    """Bound to one thread at a time."""

    def __init__(self, parameters: Mapping[str, str]) -> None:
        """Connects. RetriableError if the server is not available; ConnectError if it refuses the user."""
        from psycopg import conninfo, pq

        self._connection = pq.PGconn.connect(conninfo.make_conninfo("", **parameters).encode())
        if self._connection.status != pq.ConnStatus.OK:
            text = self._message()
            self._connection.finish()
            kind = RetriableError if may_pass(text, None) else ConnectError
            raise kind(f"Cannot open a replication connection: {text}")
        self._arrivals = select.poll()  # select() refuses descriptors from 1024 on, which a slot with many tasks has
        self._arrivals.register(self._connection.socket, select.POLLIN)

    def start(self, slot: str, lsn: int, options: Mapping[str, str]) -> None:
        """Starts to stream from a position; RetriableError if another connection uses the slot."""
        from psycopg import pq

        texts = ", ".join(f"{name} {_literal(value)}" for name, value in options.items())
        command = f'START_REPLICATION SLOT "{slot}" LOGICAL {lsn_text(lsn)} ({texts})'
        result = self._connection.exec_(command.encode())
        if result.status != pq.ExecStatus.COPY_BOTH:
            state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode()
            text = " ".join((result.error_message or b"").decode("utf-8", "replace").split())
            kind = RetriableError if may_pass(text, state) else ConnectError
            raise kind(f"The slot {slot} cannot be read from {lsn_text(lsn)}: {text}")

    def read(self, wait: float) -> Data | Keepalive | None:
        """The next message; None if none has arrived within `wait` seconds. RetriableError if the connection is
        lost, ConnectError if the server has reported an error."""
        from psycopg import OperationalError

        try:
            return self._read(wait)
        except OperationalError as error:
            raise RetriableError(f"The replication connection is lost: {' '.join(str(error).split())}") from None

    def _read(self, wait: float) -> Data | Keepalive | None:
        connection = self._connection
        size, data = connection.get_copy_data(1)
        if size == 0 and wait > 0:
            self._arrivals.poll(wait * 1000)
            connection.consume_input()
            size, data = connection.get_copy_data(1)
        elif size == 0:
            return None
        if size > 0:
            if data[0] == 0x77:  # w
                return Data(_DATA.unpack_from(data, 1)[0], bytes(data[25:]))
            if data[0] == 0x6B:  # k
                lsn, _, wants = _KEEPALIVE.unpack_from(data, 1)
                return Keepalive(lsn, bool(wants))
            raise ConnectError(f"The server has sent a message of the unknown type {chr(data[0])!r}")
        if size == 0:
            return None
        raise self._ended()

    def confirm(self, flushed: int) -> None:
        """Tells the server that everything before this position may be discarded. RetriableError if the connection is
        lost."""
        from psycopg import OperationalError

        micros = time.time_ns() // 1000 - _EPOCH_MICROS
        try:
            self._connection.put_copy_data(_STATUS.pack(b"r", flushed, flushed, flushed, micros, 0))
            self._connection.flush()
        except OperationalError as error:
            raise RetriableError(f"The replication connection is lost: {' '.join(str(error).split())}") from None

    def close(self) -> None:
        """Ends the connection."""
        self._connection.finish()

    def _ended(self) -> ConnectError:
        """The reason why the stream has ended."""
        from psycopg import pq

        texts, state = [self._message()], ""
        while (result := self._last_result()) is not None:
            if result.status == pq.ExecStatus.FATAL_ERROR:
                state = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"").decode() or state
                texts = [(result.error_message or b"").decode("utf-8", "replace")]
            elif result.status in (pq.ExecStatus.COPY_BOTH, pq.ExecStatus.COPY_IN):
                break
        text = " ".join(" ".join(texts).split()) or "the server has closed it"
        kind = RetriableError if may_pass(text, state or None) else ConnectError
        return kind(f"The replication connection has ended: {text}")

    def _last_result(self) -> Any:
        from psycopg import OperationalError

        try:
            return self._connection.get_result()
        except OperationalError:
            return None

    def _message(self) -> str:
        return " ".join(self._connection.error_message.decode("utf-8", "replace").split())


def _literal(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"

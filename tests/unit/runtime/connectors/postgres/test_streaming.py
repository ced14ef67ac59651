"""The thread that reads the replication stream ahead."""

from __future__ import annotations

from typing import Any

from runtime.connectors.postgres.streaming import StreamThread
from runtime.connectors.postgres.wire.replication import Data
from tests.support.waiting import wait_until


class Flood:
    """A connection to a server that always has another large row."""

    def __init__(self) -> None:
        self.row = bytes(4 << 20)
        self.is_closed = False

    def start(self, slot: str, lsn: int, options: Any) -> None: ...

    def read(self, wait: float) -> Data:
        return Data(1, self.row)

    def confirm(self, lsn: int) -> None: ...

    def close(self) -> None:
        self.is_closed = True


def test_few_large_rows_are_read_ahead() -> None:
    connection: Any = Flood()
    stream = StreamThread(lambda: connection, "slot", 0, {}, lambda: None)
    chunks: list[Any] = []

    def arrived() -> bool:
        chunks.append(stream.take())
        return bool(chunks[-1])

    wait_until(arrived, 10, "the first rows")
    assert len(chunks[-1]) == 1
    stream.stop()
    assert connection.is_closed

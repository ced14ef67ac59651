"""The connection is lost during a commit: before the database gets it, or before its response arrives."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from runtime.api.data.schema import INT64_SCHEMA, struct_schema
from runtime.api.errors import RetriableError
from tests.support.tasks.jdbc import SinkRun
from tests.support.waiting import wait_until
from tests.unit.runtime.connectors.jdbc.conftest import TestDatabase

VALUE = struct_schema({"n": INT64_SCHEMA})


class CommitCutter:
    """A proxy that closes a connection at its first commit after `armed` was set."""

    def __init__(self, port: int, delivers: bool) -> None:
        """`delivers`: the database gets the commit, and only its response is lost."""
        self.armed = False
        self._target, self._delivers = port, delivers
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            threading.Thread(target=self._pump, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, False), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, is_client: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                if is_client and self.armed and b"COMMIT" in data:
                    self.armed = False
                    self._cut(source, target, data)
                    return
                target.sendall(data)
        except OSError:  # one of the ends is gone
            pass
        finally:
            target.close()

    def _cut(self, client: socket.socket, server: socket.socket, commit: bytes) -> None:
        client.shutdown(socket.SHUT_RDWR)
        if self._delivers:
            server.sendall(commit)
        server.shutdown(socket.SHUT_WR)


@contextmanager
def cut_commits(database: TestDatabase, port: int, delivers: bool) -> Iterator[tuple[CommitCutter, dict[str, str]]]:
    cutter = CommitCutter(port, delivers)
    config = {**database.config}
    config["connection.url"] = config["connection.url"].replace(str(port), str(cutter.port))
    try:
        yield cutter, config
    finally:
        cutter.close()


def put_until_written(sink: SinkRun, *numbers: int) -> int:
    """The number of failures before the batch was written."""
    batch = [sink.record(None, {"n": number}, (None, VALUE), "t") for number in numbers]
    failures = 0

    def is_written() -> bool:
        nonlocal failures
        try:
            sink.task.put(batch)
        except RetriableError:
            failures += 1
            return False
        return True

    wait_until(is_written, 20, "the batch written", every=0.01)
    return failures


@pytest.mark.parametrize("key", [False, True])
@pytest.mark.parametrize("delivers", [False, True])
def test_rows_are_inserted_once_if_the_response_to_a_commit_is_lost(
    postgres_db: TestDatabase, delivers: bool, key: bool
) -> None:
    assert postgres_db.server is not None
    postgres_db.query(f"CREATE TABLE t (n BIGINT {'PRIMARY KEY' if key else ''})")
    with cut_commits(postgres_db, postgres_db.server.port, delivers) as (cutter, config):
        sink = SinkRun({**config, "max.retries": "1000"})
        put_until_written(sink, 1, 2)
        cutter.armed = True
        assert put_until_written(sink, 3, 4) >= 1
        put_until_written(sink, 5)
        sink.stop()
    assert postgres_db.query("SELECT n FROM t ORDER BY n") == [(1,), (2,), (3,), (4,), (5,)]
    assert not sink.context.failed


def test_another_batch_is_written_whatever_became_of_the_one_before(postgres_db: TestDatabase) -> None:
    assert postgres_db.server is not None
    postgres_db.query("CREATE TABLE t (n BIGINT)")
    with cut_commits(postgres_db, postgres_db.server.port, True) as (cutter, config):
        sink = SinkRun({**config, "max.retries": "1000"})
        put_until_written(sink, 1)
        cutter.armed = True
        with pytest.raises(RetriableError):
            sink.put((None, {"n": 2}), schemas=(None, VALUE))
        put_until_written(sink, 3)
        sink.stop()
    assert postgres_db.query("SELECT n FROM t ORDER BY n") == [(1,), (2,), (3,)]


def test_a_database_that_does_not_tell_is_named_in_a_warning(
    mariadb_db: TestDatabase, caplog: pytest.LogCaptureFixture, request: Any
) -> None:
    mariadb_db.query("CREATE TABLE t (n BIGINT)")
    port = request.getfixturevalue("mariadb").port
    with cut_commits(mariadb_db, port, True) as (cutter, config), caplog.at_level(logging.WARNING):
        sink = SinkRun({**config, "max.retries": "1000"})
        put_until_written(sink, 1)
        cutter.armed = True
        put_until_written(sink, 2)
        sink.stop()
    assert "did not answer the commit of 1 records" in caplog.text
    assert "pk.mode=kafka" in caplog.text

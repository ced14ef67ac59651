"""The socket of the Spark session: requests, errors, tasks that vanish, staged batches that a group has committed."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JNetworkError

from runtime.connectors.spark import session_client
from runtime.connectors.spark.session_client import SessionClient, SparkRequestError
from runtime.engine.driver.session import server
from runtime.engine.driver.session.server import SessionCaller, SessionServer
from runtime.engine.driver.session.staging import StartPosition, is_committed
from runtime.engine.driver.session_starter import listen
from tests.support.waiting import wait_until


class Service:
    """Executes requests with a function. Those with `publish` must be completed."""

    def __init__(self, execute: Callable[..., Any], cancel: Callable[[str], None]) -> None:
        self.execute, self.cancel = execute, cancel

    def must_complete(self, request: Mapping[str, Any]) -> bool:
        return "publish" in request

    def release(self, connection: str) -> None:
        """No request lasts longer than its answer."""


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., SessionClient]:
    """A client of a server that executes requests with a function."""

    def is_this(pid: int, ancestor: int) -> bool:
        return (pid, ancestor) == (os.getpid(), os.getppid())

    def start(operate: Any, cancel: Callable[[str], None] = lambda group: None, **options: Any) -> SessionClient:
        path = tmp_path / "session.sock"
        monkeypatch.setenv(session_client.SOCKET, str(path))
        monkeypatch.setenv(session_client.ROWS, str(path.parent))
        listener, service = listen(path, tmp_path / "link.sock"), Service(operate, cancel)
        SessionServer(listener, os.getppid(), tmp_path, service, 2, **{"descends": is_this, **options}).start()
        return SessionClient("test")

    return start


def test_requests_are_answered_in_order_and_errors_are_raised(serve: Callable[..., SessionClient]) -> None:
    def operate(caller: SessionCaller, request: Mapping[str, Any]) -> Any:
        return request["n"] // request["by"]

    client = serve(operate)
    answers = [client.send(lambda by=by: {"n": 10, "by": by}) for by in (2, 0, 5)]  # type: ignore[misc]  # bound now
    assert answers[0].result(30) == 5
    with pytest.raises(SparkRequestError, match="division"):
        answers[1].result(30)
    assert answers[2].result(30) == 2
    client.close()


def test_jobs_of_a_task_that_has_gone_are_cancelled_and_its_rows_removed(
    serve: Callable[..., SessionClient], tmp_path: Path
) -> None:
    rows = tmp_path / "rows"
    rows.touch()
    started, cancelled = threading.Event(), threading.Event()
    groups: list[str] = []

    def operate(caller: SessionCaller, request: Mapping[str, Any]) -> None:
        groups.append(caller.group)
        started.set()
        assert cancelled.wait(30)

    def cancel(group: str) -> None:
        assert group == groups[0]
        cancelled.set()

    client = serve(operate, cancel)
    client.send(lambda: {"files": [str(rows)]})
    assert started.wait(30)
    client.close()
    assert cancelled.wait(30)
    wait_until(lambda: not rows.exists(), 30, "rows removed")


def test_a_publication_is_completed_without_its_task(serve: Callable[..., SessionClient]) -> None:
    started, may_end, done = threading.Event(), threading.Event(), threading.Event()
    gone: list[bool] = []
    cancelled: list[str] = []

    def operate(caller: SessionCaller, request: Mapping[str, Any]) -> None:
        gone.append(caller.has_gone())
        started.set()
        assert may_end.wait(30)
        gone.append(caller.has_gone())
        done.set()

    client = serve(operate, cancelled.append)
    client.send(lambda: {"publish": "batch"})
    assert started.wait(30)
    client.close()
    assert not may_end.wait(3 * server.CHECK_INTERVAL)
    may_end.set()
    assert done.wait(30)
    assert (gone, cancelled) == ([False, True], [])


@pytest.mark.parametrize(("attempt", "seconds"), [(1, 0.5), (2, 1.0), (6, 16.0), (7, 30.0), (5000, 30.0)])
def test_the_delay_between_attempts_is_limited(attempt: int, seconds: float) -> None:
    assert session_client.retry_delay(attempt) == seconds


def test_other_processes_are_refused(serve: Callable[..., SessionClient]) -> None:
    client = serve(lambda group, request: None, descends=lambda pid, ancestor: False)
    with pytest.raises(SparkRequestError):
        client.send(dict).result(30)
    client.close()


class FailingListener(socket.socket):
    """Without a free file descriptor for the first connections."""

    failures = 2

    def accept(self) -> tuple[socket.socket, Any]:
        if FailingListener.failures:
            FailingListener.failures -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def test_connections_are_accepted_again_after_an_error(
    serve: Callable[..., SessionClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    FailingListener.failures = 2
    with monkeypatch.context() as patched:
        patched.setattr(socket, "socket", FailingListener)
        client = serve(lambda group, request: 7, accept_retry=0.01)
    assert client.send(dict).result(30) == 7
    assert FailingListener.failures == 0
    client.close()


RANGES = {"t": {"0": [100, 200], "1": [0, 50]}}


@pytest.mark.parametrize(
    ("position", "verdict"),
    [
        (StartPosition("t", 0, 200, "0-a"), True),  # committed, and not published yet
        (StartPosition("t", 0, 100, "0-before"), False),  # killed before the commit
        (StartPosition("t", 0, 100, ""), False),  # the same, without an earlier commit; or set back by the user
        (StartPosition("t", 0, 20, ""), False),  # set back by the user
        (StartPosition("t", 0, 300, ""), True),  # set forward by the user: nothing that may have been committed is lost
        (StartPosition("t", 0, 300, "0-later"), False),  # other batches have been committed since
        (StartPosition("t", 0, 300, "-"), False),  # offsets without a batch have been committed since
        (StartPosition("t", 2, 100, ""), None),  # another task's partition
        (StartPosition("u", 0, 100, "0-a"), None),
    ],
)
def test_the_group_decides_whether_a_batch_is_published(position: StartPosition, verdict: bool | None) -> None:
    assert is_committed("0-a", RANGES, [position]) is verdict


def test_a_slot_without_the_files_of_the_driver_sends_and_gets_rows(
    serve: Callable[..., SessionClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere, secret = tmp_path / "elsewhere", tmp_path / "secret"
    elsewhere.mkdir()
    secret.write_bytes(b"secret")
    seen: list[bytes] = []

    def operate(caller: object, request: Mapping[str, Any]) -> Any:
        seen.extend(Path(file).read_bytes() for file in request["files"])
        found = tmp_path / "found"
        found.write_bytes(b"rows of the driver" * 100_000)
        return {"files": [str(found)]}

    client = serve(operate)
    monkeypatch.setenv(session_client.ROWS, str(elsewhere))
    path = os.environ[session_client.SOCKET]
    monkeypatch.setattr(session_client, "_remote", [lambda: session_client._LocalConnection(path)])
    rows = elsewhere / "rows"
    rows.write_bytes(b"rows of the slot" * 100_000)
    (answered,) = client.send(lambda: {"op": "next", "files": [str(rows)]}).result(30)["files"]
    assert seen == [rows.read_bytes()]
    assert Path(answered).parent == elsewhere
    assert Path(answered).read_bytes() == b"rows of the driver" * 100_000
    assert not list(tmp_path.glob("*rows")), "a task sends as many files as batches"
    with pytest.raises(SparkRequestError):
        client.send(lambda: {"op": session_client.DOWNLOAD, "file": str(secret)}).result(30)
    client.close()
    assert not Path(answered).exists()


def test_connections_beyond_the_limit_are_closed_until_there_is_room(
    serve: Callable[..., SessionClient], caplog: pytest.LogCaptureFixture
) -> None:
    """Each has a thread of the driver."""
    first = serve(lambda caller, request: 7, most=1)
    assert first.send(dict).result(30) == 7
    second = SessionClient("second")
    with pytest.raises(SparkRequestError):
        second.send(dict).result(30)
    assert "there are too many of them" in caplog.text
    first.close()

    def responds() -> bool:
        try:
            return bool(second.send(dict).result(30) == 7)
        except SparkRequestError:
            return False

    wait_until(responds, 30)
    second.close()


@pytest.mark.parametrize("error", [ConnectionRefusedError(), Py4JNetworkError("Answer from Java side is empty")])
def test_a_request_that_fails_with_the_jvm_gets_the_end_of_the_process_instead_of_an_error(
    serve: Callable[..., SessionClient], error: Exception
) -> None:
    def operate(caller: SessionCaller, request: Mapping[str, Any]) -> Any:
        raise error

    client = serve(operate)
    with pytest.raises(TimeoutError):
        client.send(dict).result(0.2)
    client.close()


def test_an_unused_server_leaves_the_next_connection_to_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, started, may_end = tmp_path / "session.sock", threading.Event(), threading.Event()
    monkeypatch.setenv(session_client.SOCKET, str(path))

    def operate(caller: SessionCaller, request: Mapping[str, Any]) -> bool:
        started.set()
        return may_end.wait(30)

    listener, service = listen(path, tmp_path / "link.sock"), Service(operate, lambda group: None)
    first, second = (SessionServer(listener, os.getpid(), tmp_path, service, 2, idle_end=end) for end in (0.2, None))
    first.start()
    client = SessionClient("gone")
    client.send(lambda: {"publish": "batch"})
    assert started.wait(30)
    client.close()
    assert not first.idle.wait(3 * server.CHECK_INTERVAL), "a request is being completed"
    may_end.set()
    assert first.idle.wait(30)
    client = SessionClient("next")
    work = client.send(dict)
    second.start()
    assert work.result(30) is True
    client.close()

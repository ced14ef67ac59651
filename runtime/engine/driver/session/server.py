"""The socket on which tasks use the driver's Spark session.

A task has a connection and sends one request after another: JSON objects with an `op`, answered by an object with
`result` or `error`. Spark's work runs in a few threads, so that a hundred tasks do not start a hundred jobs at once.
When a connection closes, because its slot has died or its task has been stopped, the jobs of its request are cancelled
unless the request must be completed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from runtime.connectors.spark.session_client import DOWNLOAD, MAX_UPLOAD, UPLOAD
from runtime.logs.limited import LimitedWarnings
from runtime.system import frames
from runtime.system.processes import is_below, peer

_log = logging.getLogger(__name__)


class SessionCaller(NamedTuple):
    """Who sends a request: the name of the connection, and of the job group for the request's Spark jobs. `has_gone`:
    whether the connection has been closed, so that nobody will get the response."""

    connection: str
    group: str
    has_gone: Callable[[], bool]


Request = Mapping[str, Any]


class SessionService(Protocol):
    """Executes requests. The methods are called in several threads."""

    def execute(self, caller: SessionCaller, request: Request) -> Any:
        """The result, or a future for a result that may take any time."""

    def must_complete(self, request: Request) -> bool:
        """Whether the request is executed to its end even if its task has gone."""

    def cancel(self, group: str) -> None:
        """Cancel the jobs of a job group."""

    def release(self, connection: str) -> None:
        """A connection has been closed."""


CHECK_INTERVAL = 0.25
"""Seconds between two checks whether the task of a running request still exists."""

MAX_CONNECTIONS = 2_048
"""The most connections at a time, each of which has a thread."""

_CHUNK = 1 << 20
_JVM_END = 3.0  # seconds in which this process follows its JVM, so that tasks lose the connection instead of a request
_IDLE_CHECKS = 10  # in the time after which an unused session ends


class SessionServer:
    """Serves a worker and the processes that descend from it: its slots, and those that check configurations."""

    def __init__(
        self, listener: socket.socket, worker: int, folder: Path, service: SessionService, threads: int,
        descends: Callable[[int, int], bool] = is_below, accept_retry: float = 0.5,
        most: int = MAX_CONNECTIONS, idle_end: float | None = None,
    ) -> None:  # fmt: skip
        """`worker`: its pid; it connects for slots on other machines. `folder` has the files of rows. `descends`:
        whether a process is a descendant of another. `accept_retry`: seconds after which accept() is tried again.
        `most`: connections at a time; further ones are closed. `idle_end`: seconds without a connection after which
        `idle` is set, and further connections are left to another process that has the listener."""
        self.idle = threading.Event()
        self._most = most
        self._refusals = LimitedWarnings(_log, time.monotonic)
        self._descends, self._accept_retry = descends, accept_retry
        self._listener, self._worker = listener, worker
        self._folder, self._service = folder, service
        self._idle_end = idle_end
        self._lock = threading.Lock()  # guards the next three attributes
        self._connections = self._working = 0  # how many there are, and how many requests are being executed
        self._used = time.monotonic()  # when the last of them ended
        self._pool = ThreadPoolExecutor(threads, "session")

    def start(self) -> None:
        """Accept connections, in a thread."""
        threading.Thread(target=self._accept, args=(self._listener,), name="session-server", daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        number = 0
        while self._wait_for_connection(listener):
            try:
                connection, _ = listener.accept()
            except OSError as error:  # no free file descriptors; the client waits in the queue
                _log.warning("Cannot accept a connection to the Spark session: %s", error)
                time.sleep(self._accept_retry)
                continue
            number += 1
            try:
                pid, uid = peer(connection)
            except OSError:  # the client has closed it
                connection.close()
                continue
            if uid != os.getuid() or not (pid == self._worker or self._descends(pid, self._worker)):
                connection.close()
                continue
            if not self._enter():
                self._refusals.warn("A connection to the Spark session is closed: there are too many of them")
                connection.close()
                continue
            name = f"headrace-task-{number}"
            threading.Thread(target=self._serve, args=(connection, name), name=name, daemon=True).start()

    def _wait_for_connection(self, listener: socket.socket) -> bool:
        """False if none has come for too long."""
        if self._idle_end is None:
            return True
        while not select.select([listener], (), (), self._idle_end / _IDLE_CHECKS)[0]:
            with self._lock:
                unused = not self._connections and not self._working
                if unused and time.monotonic() - self._used > self._idle_end:
                    self.idle.set()
                    return False
        return True

    def _enter(self) -> bool:
        """Whether there is room for another connection."""
        with self._lock:
            has_room = self._connections < self._most
            self._connections += has_room
            return has_room

    def wait_for_lock(self) -> None:
        """Return when no thread keeps the server from taking connections and requests."""
        with self._lock:
            pass

    def _leave(self) -> None:
        with self._lock:
            self._connections -= 1
            self._used = time.monotonic()

    def _start_work(self, caller: SessionCaller, request: Request) -> Future[dict[str, Any]]:
        with self._lock:
            self._working += 1
        work = self._pool.submit(_outcome, lambda: self._service.execute(caller, request))
        work.add_done_callback(lambda _: self._end_work())
        return work

    def _end_work(self) -> None:
        with self._lock:
            self._working -= 1
            self._used = time.monotonic()

    def _serve(self, connection: socket.socket, name: str) -> None:
        try:
            with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError, EOFError):
                self._serve_requests(connection, stream, name)
        except (frames.FrameError, AttributeError, KeyError, TypeError) as error:  # slots elsewhere send anything
            _log.error("A connection to the Spark session is closed, since it has sent an invalid request: %s", error)
        finally:
            self._leave()
            self._service.release(name)

    def _serve_requests(self, connection: socket.socket, stream: BinaryIO, name: str) -> None:
        files: list[str] = []
        uploaded: dict[str, str] = {}  # the files of this connection, by the slot's names
        room = MAX_UPLOAD
        named: list[str] = []  # by the last response
        try:
            for number, request in enumerate(frames.read_all(stream, frames.MAX_VALUES)):
                if request.get("op") == UPLOAD:
                    room = _room_after(request["size"], room)
                    copy = uploaded[request["file"]] = self._place(f"{name}-{request['file']}")
                    _save(stream, copy, request["size"])
                    connection.sendall(frames.encode({"result": None}))
                    continue
                if request.get("op") == DOWNLOAD:
                    _send(connection, request["file"], named)
                    continue
                files = [uploaded.get(Path(file).name) or self._place(file) for file in request.get("files", [])]
                request["files"] = files
                caller = SessionCaller(name, f"{name}-{number}", lambda: _closed(connection))
                outcome = self._respond(caller, request)
                if outcome is None:
                    return
                _remove(uploaded.values())  # the slot sends them again with each request
                uploaded.clear()
                room = MAX_UPLOAD
                named = _files_of(outcome)
                connection.sendall(frames.encode(outcome))
        finally:
            _remove([*files, *uploaded.values()])  # a slot that was killed cannot remove them

    def _place(self, file: str) -> str:
        return str(self._folder / Path(file).name)

    def _respond(self, caller: SessionCaller, request: Request) -> dict[str, Any] | None:
        """The response; None if the task no longer exists."""
        work = self._start_work(caller, request)
        if not self._watch(caller, work, request):
            return None
        outcome = work.result()
        if isinstance(later := outcome.get("result"), Future):
            if not self._watch(caller, later, request):
                return None
            outcome = _outcome(later.result)
        return outcome

    def _watch(self, caller: SessionCaller, work: Future[Any], request: Request) -> bool:
        """Wait for the request. False if the task has closed its connection; its jobs are cancelled then."""
        while not work.done():
            with contextlib.suppress(TimeoutError):
                work.exception(CHECK_INTERVAL)
            if not work.done() and caller.has_gone():
                if not self._service.must_complete(request):
                    self._give_up(work, caller.group)
                return False
        return True

    def _give_up(self, work: Future[Any], group: str) -> None:
        while not work.cancel() and not work.done():
            self._service.cancel(group)  # again: a request may start several jobs
            time.sleep(CHECK_INTERVAL)


def _remove(files: Iterable[str]) -> None:
    for file in files:
        Path(file).unlink(missing_ok=True)


def _room_after(size: object, room: int) -> int:
    """The bytes that remain for further files of a request. FrameError if there are not enough for this one."""
    if type(size) is not int or not 0 <= size <= room:
        raise frames.FrameError(f"a file of {size} bytes; {room:,} are allowed")
    return room - size


def _save(stream: BinaryIO, file: str, size: int) -> None:
    """Store the next bytes of a stream. EOFError if it ends before."""
    with Path(file).open("wb") as rows:
        while size:
            data = stream.read(min(size, _CHUNK))
            if not data:
                raise EOFError
            rows.write(data)
            size -= len(data)


def _files_of(outcome: Mapping[str, Any]) -> list[str]:
    result = outcome.get("result")
    files = result.get("files") if isinstance(result, dict) else None
    return files if isinstance(files, list) else []


def _send(connection: socket.socket, file: str, named: Collection[str]) -> None:
    """Send a file that the last response has named. PermissionError for others."""
    if file not in named:
        raise PermissionError(file)
    with Path(file).open("rb") as rows:
        connection.sendall(frames.encode({"result": {"size": os.fstat(rows.fileno()).st_size}}))
        connection.sendfile(rows)


def _outcome(work: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"result": work()}
    except Exception as error:  # any error of Spark, of a data source or of the request is the task's
        from runtime.engine.driver.session.spark_errors import described, has_lost_jvm, kind_of

        if has_lost_jvm(error):
            time.sleep(_JVM_END)
        return {"error": described(error), "kind": kind_of(error)}


def _closed(connection: socket.socket) -> bool:
    """Whether the other end has closed the connection; a task sends nothing while its request runs."""
    try:
        return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True

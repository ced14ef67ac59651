"""The plugin host's process: reads calls from its standard input and runs each on a thread of its own.

Answers are written to the original standard output; output of plugins is redirected to standard error.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO

from runtime.api.errors import ConfigError, ConnectError, DataError, UnsupportedOffsetsError
from runtime.host.calls import HostCalls
from runtime.host.port import CALL_TIMEOUT, HOST_DIED, HostRequestError, UnknownPluginError
from runtime.host.settings import HostSettings
from runtime.java.errors import CallTimeoutError, HostLostError
from runtime.logs import context
from runtime.pipeline.task.failure import message_of, trace_of
from runtime.system import frames
from runtime.system.threads import run_apart

_STOP_TIMEOUT = 2.0
"""Seconds that connectors have to stop when the host ends."""

_KINDS: tuple[tuple[type[BaseException], str], ...] = (
    (HostLostError, HOST_DIED),
    (CallTimeoutError, CALL_TIMEOUT),
    (UnknownPluginError, "unknown_plugin"),
    (HostRequestError, "request"),
    (ConfigError, "config"),
    (DataError, "data"),
    (UnsupportedOffsetsError, "unsupported"),
    (ConnectError, "connect"),
    (BaseException, "other"),
)


class Replies:
    """Writes frames from any thread. Ends the process if the worker no longer reads them."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        # Reentrant: the garbage collector may run code inside that logs. Such a line waits for the frame being written.
        self._lock = threading.RLock()
        self._frames: deque[bytes] = deque()
        self._is_writing = False

    def send(self, message: dict[str, Any]) -> None:
        frame = frames.encode(message)
        with self._lock:
            self._frames.append(frame)
            while self._frames and not self._is_writing:
                self._write_all()

    def _write_all(self) -> None:
        self._is_writing = True
        try:
            while self._frames:
                self._stream.write(self._frames.popleft())
                self._stream.flush()
        except OSError:
            os._exit(1)  # the worker has ended
        finally:
            self._is_writing = False


class LogHandler(logging.Handler):
    """Sends log records to the worker, which writes them to its log."""

    def __init__(self, replies: Replies) -> None:
        super().__init__()
        self._replies = replies

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = _clean(self.format(record))
        except Exception:  # as in logging.Handler
            self.handleError(record)
            return
        line = {"level": record.levelno, "logger": record.name, "text": text, "context": context.current()}
        self._replies.send({"event": "log", **line})


def serve(call: Callable[[], Any], replies: Replies, number: int) -> None:
    """Make a call and send its result or its error."""
    try:
        replies.send({"id": number, "result": call()})
    except BaseException as error:  # third-party code, SystemExit included
        replies.send({"id": number, "error": failure(error)})


def failure(error: BaseException) -> dict[str, str]:
    """The kind, message and trace of an error, as sent to the worker."""
    kind = next(kind for cls, kind in _KINDS if isinstance(error, cls))
    if isinstance(error, CallTimeoutError):
        return {"kind": kind, "message": error.method, "trace": ""}
    message = message_of(error) or type(error).__name__
    return {"kind": kind, "message": _clean(message), "trace": _clean(trace_of(error))}


def _clean(text: str) -> str:
    """Replace characters that JSON cannot represent: messages may quote file names that are not UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def _own_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Reserve standard input and output for calls: plugins get an empty input, and standard error as output."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return requests, replies


def main() -> None:
    """Answer calls until the worker closes standard input, then stop all connectors and end."""
    faulthandler.enable()  # standard error goes to the worker's log
    for number in (signal.SIGINT, signal.SIGHUP):  # of the terminal: they stop the worker, which ends the host
        signal.signal(number, signal.SIG_IGN)
    requests, stream = _own_pipes()
    replies = Replies(stream)
    logging.basicConfig(level=logging.INFO, handlers=[LogHandler(replies)], format="%(message)s")
    messages = frames.read_all(requests)
    calls = HostCalls(HostSettings.from_json(next(messages)), replies.send)
    for request in messages:
        call = calls.prepare(request["call"], request["args"])
        run_apart(partial(serve, call, replies, request["id"]), request["call"])
    last = threading.Thread(target=calls.stop_all, daemon=True)
    last.start()
    last.join(_STOP_TIMEOUT)
    os._exit(0)  # without waiting for threads of plugins


if __name__ == "__main__":
    main()

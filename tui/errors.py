"""The console's errors, each type with its exit code.

HeadraceError                  1
├── UsageError                 2  an invalid command line or script line
├── ReadOnly                   7  the context forbids changes
├── TimedOut                   6  no response in time, or a state not reached in time
├── Unreachable                5  no connection to the URL
└── Refused                    1  the cluster responded with an error (HTTP status and message)
    ├── NotFound               3  404
    ├── Conflict               4  409: a rebalance, or a name that exists
    ├── WrongState             4  offsets of a connector that is not STOPPED
    ├── Unsupported            9  the worker's version of Connect cannot do it
    ├── BadRequest             1  any other 4xx
    └── ServerError            1  5xx
        └── MalformedResponse    1  a response that violates the Connect REST API

BadRequest, Conflict and NotFound also exist in `runtime.herder.errors`: the worker raises them for the HTTP statuses
for which the console raises these.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tui.formatting import MESSAGE_LENGTH, cut, joined_lines, one_line

DONE, FAILED, USAGE, NOT_FOUND, CONFLICT, UNREACHABLE, TIMED_OUT, READ_ONLY, PENDING, UNSUPPORTED = range(10)
INTERRUPTED = 130
BROKEN_PIPE = 141

NO_WORKER = "is this the URL of a Connect worker?"


class HeadraceError(Exception):
    """The base class; `message` is the error, `advice` the remedy, if any."""

    exit_code = FAILED

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message, self.advice = message, advice
        self.subject = ""  # the connector, set by `naming`
        self.form: str | None = None  # the format that -o of an invalid command names
        self.output = ""  # text for standard output
        self.data: object = None  # instead of the error, in formats for programs
        self.delay = 0.0  # seconds after which the worker sent it, if these were unusually many

    def __str__(self) -> str:
        text = f"{self.subject}: {self.message}" if self.subject else self.message
        return f"{text} ({self.advice})" if self.advice else text


@contextmanager
def naming(subject: str) -> Iterator[None]:
    """Names the connector (or command) in each error raised inside."""
    try:
        yield
    except HeadraceError as error:
        error.subject = error.subject or subject
        raise


class UsageError(HeadraceError):
    exit_code = USAGE


class ReadOnly(HeadraceError):
    exit_code = READ_ONLY


class TimedOut(HeadraceError):
    exit_code = TIMED_OUT


class Unreachable(HeadraceError):
    exit_code = UNREACHABLE
    sent = False  # whether the request may have reached the worker


class Refused(HeadraceError):
    """The cluster responded with an error; `message` is the server's own."""

    def __init__(self, message: str, status: int, advice: str = "") -> None:
        super().__init__(message, advice)
        self.status = status


class NotFound(Refused):
    exit_code = NOT_FOUND


class Conflict(Refused):
    exit_code = CONFLICT


class WrongState(Refused):
    exit_code = CONFLICT


class Unsupported(Refused):
    """The worker's version of Connect cannot do it; known from its version, before or after a refusal."""

    exit_code = UNSUPPORTED

    def __init__(self, message: str, advice: str = "", status: int = 501) -> None:
        super().__init__(message, status, advice)


class BadRequest(Refused):
    pass


class ServerError(Refused):
    pass


class MalformedResponse(ServerError):
    """The response violates the Connect REST API."""

    def __init__(self, message: str, status: int = 200, advice: str = NO_WORKER) -> None:
        super().__init__(message, status, advice)


def cluster_is_down(error: HeadraceError | None) -> bool:
    """Whether no worker accepted a connection, so that further requests would fail as well. A worker that ends during a
    request is not enough: the next request may reach another one."""
    return isinstance(error, Unreachable) and not error.sent


def may_have_arrived(error: HeadraceError) -> bool:
    """Whether the worker may have carried out a request that failed with this error: its response was lost."""
    if isinstance(error, ServerError):
        return isinstance(error, MalformedResponse) or error.status in (502, 503, 504)
    return error.sent if isinstance(error, Unreachable) else isinstance(error, TimedOut)


def error_line(error: Exception) -> str:
    """The error on one line. An exception that is not a HeadraceError is reported as an internal error."""
    text = str(error) if isinstance(error, HeadraceError) else f"internal error: {error!r}"
    return cut(one_line(joined_lines(text)), MESSAGE_LENGTH)


def refusal(status: int, message: str) -> Refused:
    """The error for the status and message of an HTTP response."""
    if status == 404:  # for an unknown path, Connect responds with "HTTP 404 …"
        return NotFound(message, status, NO_WORKER if message.startswith("HTTP 404") else "")
    # Apache's worker responds with 500 with this message if it forwarded the request to another worker.
    if status == 409 or message.startswith("Request cannot be completed because a rebalance"):
        return Conflict(message, status)
    if status == 400 and "must be in the STOPPED state" in message:
        return WrongState(message, status)
    if 300 <= status < 400:
        return ServerError(message, status, NO_WORKER)
    if status in (401, 403):
        return BadRequest(message, status, "check the credentials of the context and their permissions")
    return (BadRequest if 400 <= status < 500 else ServerError)(message, status)

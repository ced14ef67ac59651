"""What can go wrong, with the exit code and the advice attached to each type.

HeadraceError                  1
├── UsageError                 2  a line that cannot be understood
├── ReadOnly                   7  the context forbids changes
├── TimedOut                   6  no answer in time, or a state not reached in time
├── Unreachable                5  nobody answers at the URL
└── Refused                    1  the cluster answered with an error (status, its own message)
    ├── NotFound               3  404
    ├── Conflict               4  409: a rebalance, a name that is taken
    ├── WrongState             4  offsets of a connector that is not STOPPED
    ├── BadRequest             1  any other 4xx
    └── ServerError          1  5xx
        └── MalformedAnswer          1  an answer that does not fit the Connect REST API
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tui.formatting import joined_lines, one_line

DONE, FAILED, USAGE, NOT_FOUND, CONFLICT, UNREACHABLE, TIMED_OUT, READ_ONLY, PENDING = range(9)
INTERRUPTED = 130
BROKEN_PIPE = 141

EXIT_CODES = {
    DONE: "done",
    FAILED: "the cluster refused, or something failed",
    USAGE: "usage: the command line or a script line cannot be understood",
    NOT_FOUND: "not found",
    CONFLICT: "conflict or wrong state",
    UNREACHABLE: "the cluster is unreachable",
    TIMED_OUT: "timed out",
    READ_ONLY: "refused: the context is read-only",
    PENDING: "apply --dry-run: there are changes to make",
}


NO_WORKER = "is this URL a Connect worker's?"


class HeadraceError(Exception):
    """The root; `message` is one line for people, `advice` what they can do about it."""

    exit_code = FAILED

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message, self.advice = message, advice
        self.subject = ""  # the connector it is about, set where that is known (`about`)

    def __str__(self) -> str:
        text = f"{self.subject}: {self.message}" if self.subject else self.message
        return f"{text} ({self.advice})" if self.advice else text


@contextmanager
def about(subject: str) -> Iterator[None]:
    """Names the connector in every error raised inside."""
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
    sent = False  # whether the request may have arrived


class Refused(HeadraceError):
    """The cluster answered with an error; `message` is its own, word for word."""

    def __init__(self, message: str, status: int, advice: str = "") -> None:
        super().__init__(message, advice)
        self.status = status


class NotFound(Refused):
    exit_code = NOT_FOUND


class Conflict(Refused):
    exit_code = CONFLICT


class WrongState(Refused):
    exit_code = CONFLICT


class BadRequest(Refused):
    pass


class ServerError(Refused):
    pass


class MalformedAnswer(ServerError):
    """An answer arrived that does not fit the Connect REST API."""

    def __init__(self, message: str, status: int = 200, advice: str = NO_WORKER) -> None:
        super().__init__(message, status, advice)


def error_line(error: Exception) -> str:
    """The error on one line, for people; an error outside this tree is reported as a bug in the console."""
    text = str(error) if isinstance(error, HeadraceError) else f"this should not happen: {error!r}"
    return one_line(joined_lines(text))


def refusal(status: int, message: str) -> Refused:
    """The error of an HTTP answer."""
    if status == 404:  # the second: an address that no Connect worker has, in its own words
        return NotFound(message, status, NO_WORKER if message.startswith("HTTP 404") else "")
    # Java's workers say this one with 500 where it reaches them from another worker.
    if status == 409 or message.startswith("Request cannot be completed because a rebalance"):
        return Conflict(message, status)
    if status == 400 and "must be in the STOPPED state" in message:
        return WrongState(message, status)
    if status in (401, 403):
        return BadRequest(message, status, "the context's user and password are wrong or not allowed to do this")
    return (BadRequest if 400 <= status < 500 else ServerError)(message, status)

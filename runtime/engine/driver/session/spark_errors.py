"""Errors of Spark as short text: the message of the cause, without the frames of the JVM."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import takewhile
from typing import Any

from runtime.engine.driver.session.queries import NotAQueryError
from runtime.engine.driver.session.source.checkpoint import CheckpointError

MAX_TEXT = 4000  # characters
_DATA = re.compile(
    r"SQLSTATE: (22|23505|54000|P0001)|\.PARSE_DATETIME_BY_NEW_PARSER\]|\[INVALID_FORMAT\.MISMATCH_INPUT\]"
    r"|array of MapData must have the same length"
)
"""Texts of errors in a value: SQL's class of data exceptions, a map with equal keys, a collection that is too large,
raise_error(), a time that Spark's former parser would read in another way, a text that to_number() cannot read, and
map_from_arrays() of different lengths."""
_TRACEBACK = "Traceback (most recent call last):"
_MODULE = re.compile(r"^(\w+\.)+(?=\w+(:|$))")  # of a class
_WRAPPERS = ("Job aborted", "Task failed while writing", "[TASK_WRITE_FAILED]", "Failed to execute")


class FailureKind(StrEnum):
    """What a request failed on: another attempt may help only with OTHER."""

    QUERY = "query"  # it has been refused before a job was started
    DATA = "data"  # an expression of the query does not accept a value
    OTHER = "other"


class CatalogError(Exception):
    """A catalog of Spark cannot be used. The message names the catalog and the remedy."""

    def __init__(self, message: str, kind: FailureKind) -> None:
        super().__init__(message)
        self.kind = kind


def spark_errors() -> tuple[type[Exception], ...]:
    """The classes of the errors that calls of Spark and of its JVM raise."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    return Py4JJavaError, PySparkException


def described(error: BaseException) -> str:
    """The message, with that of the innermost cause in the JVM if it differs."""
    first = _first_line(str(error)) or type(error).__name__
    causes = [cause for cause in _causes(error) if cause and cause not in first]
    if causes and first.startswith(_WRAPPERS):
        return causes[-1][:MAX_TEXT]
    return ": ".join([first, *causes[-1:]])[:MAX_TEXT]


def kind_of(error: BaseException) -> FailureKind:
    """What a request failed on."""
    from pyspark.errors import AnalysisException

    if isinstance(error, CatalogError):
        return error.kind
    if isinstance(error, AnalysisException | NotAQueryError | CheckpointError):
        return FailureKind.QUERY
    if any(_DATA.search(text) for text in (str(error), *_causes(error))):
        return FailureKind.DATA
    return FailureKind.OTHER


def has_lost_jvm(error: BaseException) -> bool:
    """Whether the connection to the JVM has failed, usually because it has ended."""
    from py4j.protocol import Py4JError, Py4JJavaError

    return isinstance(error, ConnectionError | Py4JError) and not isinstance(error, Py4JJavaError)


def _first_line(text: str) -> str:
    """The first line, which ends with the error of Python instead of its traceback, or with the list that it
    announces."""
    lines = [line.strip() for line in text.strip().splitlines()]
    first = lines[0] if lines else ""
    if first.startswith("An error occurred while calling") and len(lines) > 1:
        first = lines[1].removeprefix(": ")
    if _TRACEBACK in (first[-len(_TRACEBACK) :], *lines[1:2]) and (reason := _python_error(text)):
        return f"{first.removesuffix(_TRACEBACK).rstrip()} {reason}"
    if first.endswith(":"):
        return " ".join([first, *takewhile(lambda line: not line.startswith(("at ", "==")), lines[1:])])
    return first


def _python_error(text: str) -> str:
    """The first line of the error of the last traceback in a text, with the name of its class."""
    lines = text.rpartition(_TRACEBACK)[2].splitlines()
    return _MODULE.sub("", next((line for line in lines if line[:1].strip()), ""))


def java_classes(error: BaseException) -> list[str]:
    """The classes of the exception in the JVM and of its causes, outermost first."""
    return [str(exception.getClass().getName()) for exception in _java_exceptions(error)]


def _causes(error: BaseException) -> Iterator[str]:
    """The messages of the causes in the JVM, outermost first."""
    for cause in list(_java_exceptions(error))[1:]:
        yield _first_line(str(cause.getMessage() or cause.getClass().getName()))


def _java_exceptions(error: BaseException) -> Iterator[Any]:
    from py4j.protocol import Py4JJavaError

    cause = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)  # of PySpark
    depth = 0
    while cause is not None and depth <= 16:
        yield cause
        cause, depth = cause.getCause(), depth + 1

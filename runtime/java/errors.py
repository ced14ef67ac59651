"""Exceptions of Java plugins, and of the JVM that runs them."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from runtime.api.errors import (
    AlreadyExistsError,
    ConfigError,
    ConnectError,
    DataError,
    IllegalArgumentError,
    NotFoundError,
    NullPointerError,
    RetriableError,
    SchemaBuilderError,
    UnsupportedOffsetsError,
)


class HostLostError(ConnectError):
    """The task host JVM has ended, or the link to it was closed. The plugin's object is lost."""

    tolerable = False


class InvalidFrameError(HostLostError):
    """The task host JVM has sent a frame that is too long. Its link was closed."""


class CallTimeoutError(TimeoutError):
    """A Java plugin has not returned from a method in time. Its object is lost, and closing it interrupts the call in
    the JVM."""

    def __init__(self, method: str) -> None:
        super().__init__(f"A Java plugin did not return from {method} in time")
        self.method = method


class HostStartError(ConnectError):
    """The task host JVM ends as soon as it is started."""


_BASES: tuple[type[ConnectError], ...] = (
    RetriableError,
    ConfigError,
    SchemaBuilderError,
    DataError,
    IllegalArgumentError,
    NullPointerError,
    NotFoundError,
    AlreadyExistsError,
    UnsupportedOffsetsError,
)
_ERROR = "java.lang.Error"  # Connect tolerates exceptions only
_BY_NAME = {base.java_name: base for base in _BASES}


def java_error(description: list[Any]) -> ConnectError:
    """The exception for a description by the JVM: class, message, stack trace, the class and its superclasses.

    It is an instance of the class of `runtime.api.errors` that corresponds to the closest superclass in Java, or of
    ConnectError; `java_trace` is the stack trace that Java prints."""
    name, message, trace, classes = description
    base = next((known for known in classes if known in _BY_NAME or known == _ERROR), "")
    error = _class(name, base)(message or "")
    error.java_trace = trace  # type: ignore[attr-defined] # a class that is created for the Java class
    return error


@lru_cache(maxsize=1000)
def _class(name: str, base: str) -> type[ConnectError]:
    """A class for each Java class, whose name traces, dead letters and status show."""
    members: dict[str, Any] = {"java_name": name, "__module__": __name__}
    if base == _ERROR:
        members["tolerable"] = False
    return type(name.rpartition(".")[2], (_BY_NAME.get(base, ConnectError),), members)

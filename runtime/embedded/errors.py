"""What can go wrong with the embedded cluster; each error carries the exit code of the command line.

EmbeddedError            1  something failed
├── JavaError            1  Java is missing or too old
├── JarsError            1  the broker's jars could not be fetched
├── StartError           1  a part ended, or did not get ready
├── BusyError            4  somebody else is starting or running it
└── NotRunningError      5  there is no embedded cluster now
"""

from __future__ import annotations

from typing import ClassVar


class EmbeddedError(Exception):
    """One line for the operator, with what to do about it."""

    exit_code: ClassVar[int] = 1


class JavaError(EmbeddedError):
    """Java is missing or too old; the message says what to install."""


class JarsError(EmbeddedError):
    """The broker's jars could not be fetched."""


class StartError(EmbeddedError):
    """A part ended, or did not get ready in time; the message names its log."""


class BusyError(EmbeddedError):
    """Somebody else is starting or running the embedded cluster."""

    exit_code = 4


class NotRunningError(EmbeddedError):
    """There is no embedded cluster now."""

    exit_code = 5

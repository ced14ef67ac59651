"""Errors of the embedded cluster, with the exit code of each.

EmbeddedError            1  any failure
├── StartError           1  a process ended, or was not ready in time
├── BusyError            4  another process is starting or running the cluster
└── NotRunningError      5  the cluster is not running
"""

from __future__ import annotations

from typing import ClassVar


class EmbeddedError(Exception):
    """An error for the operator: one line, with the remedy."""

    exit_code: ClassVar[int] = 1


class StartError(EmbeddedError):
    """A process ended, or was not ready in time; the message names its log."""


class BusyError(EmbeddedError):
    """Another process is starting or running the embedded cluster."""

    exit_code = 4


class NotRunningError(EmbeddedError):
    """The embedded cluster is not running."""

    exit_code = 5

"""Errors of Java and its jars: one line for the operator, with the remedy.

JvmError
├── JavaError            Java is missing or too old
└── JarsError            jars could not be downloaded
"""

from __future__ import annotations

from typing import ClassVar


class JvmError(Exception):
    """Java or its jars are not usable."""

    exit_code: ClassVar[int] = 1


class JavaError(JvmError):
    """Java is missing or too old; the message says what to install."""


class JarsError(JvmError):
    """Jars could not be downloaded."""

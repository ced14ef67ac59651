"""Errors of `headrace plugin` that end the command with one line."""

from __future__ import annotations


class KitError(Exception):
    """The command cannot continue; the message says why, and what to do."""

    exit_code = 1


class KitUsageError(KitError):
    """The command line, or a file that it names, is wrong."""

    exit_code = 2

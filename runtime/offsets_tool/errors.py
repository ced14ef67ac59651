"""Why the tool gives up."""

from __future__ import annotations


class ToolError(Exception):
    """Nothing was changed; the message is for the operator."""


class BadInput(ToolError):
    """A parameter, the worker's file or the imported document is wrong (exit code 2)."""

"""Errors of the offsets tool.

ToolError            1  nothing was changed
└── BadInput         2  wrong parameters or input
"""

from __future__ import annotations


class ToolError(Exception):
    """The tool failed; unless the message says otherwise, nothing was changed."""


class BadInput(ToolError):
    """A parameter, the worker's properties or the imported document is invalid."""

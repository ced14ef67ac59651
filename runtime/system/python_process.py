"""Command lines of Headrace's own Python processes."""

from __future__ import annotations

import sys

INTERPRETER = (sys.executable, "-P")
"""The interpreter without the current folder on its path: others may write to it, and a `random.py` of the user's would
replace that of the library."""


def module_command(module: str, *arguments: str) -> list[str]:
    """The command line that runs a module as a program."""
    return [*INTERPRETER, "-m", module, *arguments]

"""InstallError: a plugin could not be installed."""

from __future__ import annotations

from typing import ClassVar


class InstallError(Exception):
    """One line for the operator, which names the coordinate and the remedy."""

    exit_code: ClassVar[int] = 1

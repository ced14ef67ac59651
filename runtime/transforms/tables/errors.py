"""The error of a transformation that cannot work with any record."""

from __future__ import annotations

from runtime.api.errors import ConfigError


class RefusedError(ConfigError):
    """The query or the function cannot be used at all, whatever the records are."""

    tolerable = False

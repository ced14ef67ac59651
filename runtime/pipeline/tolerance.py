"""A record that cannot be converted fails the task or, with errors.tolerance=all, is skipped."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from enum import StrEnum

from runtime.api.errors import ConnectError

_log = logging.getLogger(__name__)


class Stage(StrEnum):
    """Where a record was, as the error context names it."""

    KEY_CONVERTER = "KEY_CONVERTER"
    VALUE_CONVERTER = "VALUE_CONVERTER"
    HEADER_CONVERTER = "HEADER_CONVERTER"


class Tolerance:
    """The `errors.*` keys of a connector."""

    def __init__(self, config: Mapping[str, str], task: str) -> None:
        self._task = task
        self._all = config.get("errors.tolerance", "none").lower() == "all"
        self._log = config.get("errors.log.enable", "false").lower() == "true"
        self._messages = config.get("errors.log.include.messages", "false").lower() == "true"

    def failed(self, stage: Stage, plugin: object, error: Exception, record: str) -> None:
        """Returns when the record is to be skipped; otherwise raises what the task fails with. `record` says where
        it came from, and is logged only where the configuration allows."""
        name = getattr(type(plugin), "java_name", type(plugin).__qualname__)
        if self._log or not self._all:
            where = f" {record}" if self._messages and record else ""
            _log.error(
                "Error encountered in task %s. Executing stage '%s' with class '%s'%s: %s",
                self._task,
                stage,
                name,
                where,
                error,
            )
        if not self._all:
            raise ConnectError("Tolerance exceeded in error handler") from error

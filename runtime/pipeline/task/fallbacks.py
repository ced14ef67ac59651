"""Batches that are processed record by record because a plugin raised while it processed the batch as a whole."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.pipeline.task.meter import Meter

_log = logging.getLogger(__name__)


class Fallbacks:
    """One per task. The second attempt reports the error for the record that causes it, or does not raise at all;
    either way the batch takes longer, so it is counted, and the first exception of each kind of plugin is logged."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._logged: set[str] = set()

    def count(self, plugin: str, error: Exception) -> None:
        """A batch falls back because a plugin (one of FALLBACKS) raised `error`. On the task's thread."""
        self._meter.fell_back(plugin)
        if plugin not in self._logged:
            self._logged.add(plugin)
            _log.debug("A batch is processed record by record because a %s raised", plugin, exc_info=error)

"""Maintenance of a table by the connector that writes it: small files are merged, and old versions are removed.

Only the first task does it, since all tasks write to the same table. Its requests have a connection of their own, so
that batches are written meanwhile.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from runtime.connectors.spark.session_client import SessionClient, SparkRequestError

_log = logging.getLogger(__name__)

_POLL = 10.0  # seconds between two looks at a request that runs
_BUSY = 60.0  # seconds until the next attempt if the session maintains another table


class Maintenance:
    """Sends a request at an interval (seconds), counted from the end of the last one. `clock` in seconds."""

    def __init__(
        self, interval: float, client: SessionClient, request: Mapping[str, Any], clock: Callable[[], float]
    ) -> None:
        self._interval, self._client, self._request, self._clock = interval, client, request, clock
        self._due = clock() + interval
        self._running: Future[Any] | None = None

    def run_when_due(self) -> float:
        """Send the request when it is due, and log the result of the last one. The seconds until the next call."""
        if self._running is not None and self._running.done():
            self._due = self._clock() + self._logged(self._running)
            self._running = None
        if self._running is None and self._clock() >= self._due:
            self._running = self._client.send(lambda: self._request)
        return _POLL if self._running is not None else max(self._due - self._clock(), 0.01)

    def _logged(self, request: Future[Any]) -> float:
        """Seconds until the next request. A failure does not end the task: the table is complete without it."""
        try:
            result = request.result()
        except SparkRequestError as error:
            _log.warning("The table could not be maintained; next attempt in %g s: %s", self._interval, error)
            return self._interval
        if result["busy"]:
            return min(_BUSY, self._interval)
        _log.info("The table has been maintained in %g s", result["seconds"])
        return self._interval

    def close(self) -> None:
        """Cancel a request that runs."""
        self._client.close()

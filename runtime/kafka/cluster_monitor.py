"""Monitors the Kafka cluster of a standalone worker: its id, and whether it can be reached."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from runtime.kafka.clients.open_clients import KeptAdmin

_log = logging.getLogger(__name__)
_TIMEOUT = 5.0  # seconds for one request
_RETRY_DELAY = 1.0  # seconds between two requests while Kafka does not respond
_CHECK_INTERVAL = 10.0  # seconds between two requests while Kafka responds


class ClusterMonitor:
    """Requests the cluster's id periodically. `error` is empty while Kafka responds. Event loop only."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings, self._admin = settings, KeptAdmin(settings)
        self._watching: asyncio.Task[None] | None = None
        self.cluster_id = ""
        self.error = ""

    async def start(self) -> None:
        """Wait until the brokers answer, however long that takes; then monitor them."""
        await self._check()
        while not self.cluster_id:
            await asyncio.sleep(_RETRY_DELAY)
            await self._check()
        self._watching = asyncio.create_task(self._watch(), name="cluster")

    async def close(self) -> None:
        """Stop monitoring."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait({self._watching})
        self._admin.close()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_RETRY_DELAY if self.error else _CHECK_INTERVAL)
            await self._check()

    async def _check(self) -> None:
        before = self.error
        try:
            self.cluster_id, self.error = await asyncio.to_thread(self._ask), ""
        except Exception as e:  # KafkaException (imported with the first request), or no response
            self.error = f"Kafka at {self._settings['bootstrap.servers']} does not answer ({_reason(e)})"
        if self.error != before:
            _log.log(logging.WARNING if self.error else logging.INFO, "%s", self.error or "Kafka responds again")

    def _ask(self) -> str:
        with self._admin.use() as admin:
            return str(admin.describe_cluster(request_timeout=_TIMEOUT).result(2 * _TIMEOUT).cluster_id)


def _reason(e: Exception) -> str:
    error = e.args[0] if e.args else e
    return str(error.str()) if hasattr(error, "str") else str(error) or f"no response within {_TIMEOUT:g} seconds"

"""The Kafka cluster as a standalone worker sees it: its id, and whether it can be reached."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import Any

_log = logging.getLogger(__name__)
_TIMEOUT = 5.0  # seconds for one question
_RETRY_DELAY = 1.0  # seconds between two questions while there is no answer
_CHECK_INTERVAL = 10.0  # seconds between two looks at a cluster that is well


class ClusterMonitor:
    """Asks the brokers how they are, from time to time. Event loop only."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = {**settings, "log_level": 2}
        self._admin: Any = None
        self._watching: asyncio.Task[None] | None = None
        self.cluster_id = ""
        self.error = ""

    async def start(self) -> None:
        """Wait for the brokers as long as it takes, then keep an eye on them."""
        await self._look()
        while not self.cluster_id:
            await asyncio.sleep(_RETRY_DELAY)
            await self._look()
        self._watching = asyncio.create_task(self._watch(), name="cluster")

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watching
        self._admin = None

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_RETRY_DELAY if self.error else _CHECK_INTERVAL)
            await self._look()

    async def _look(self) -> None:
        before = self.error
        try:
            self.cluster_id, self.error = await asyncio.to_thread(self._ask), ""
        except Exception as e:  # KafkaException (its import is left to the first question) or no answer at all
            self.error = f"Kafka at {self._settings['bootstrap.servers']} does not answer ({_reason(e)})"
        if self.error != before:
            _log.log(logging.WARNING if self.error else logging.INFO, "%s", self.error or "Kafka answers again")

    def _ask(self) -> str:
        from confluent_kafka.admin import AdminClient

        if self._admin is None:
            self._admin = AdminClient(self._settings)
        return str(self._admin.describe_cluster(request_timeout=_TIMEOUT).result(2 * _TIMEOUT).cluster_id)


def _reason(e: Exception) -> str:
    error = e.args[0] if e.args else e
    return str(error.str()) if hasattr(error, "str") else str(error) or f"no answer within {_TIMEOUT:g} seconds"

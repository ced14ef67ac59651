"""Requests to Kafka that follow a rebalance. The next rebalance does not wait for their responses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

_log = logging.getLogger(__name__)


class FollowUps:
    """The requests that are under way. Event loop only."""

    def __init__(self, group_id: str) -> None:
        self._group_id = group_id
        self._pending: set[asyncio.Task[None]] = set()

    def start(self, request: Coroutine[Any, Any, None]) -> None:
        """Send a request; an unexpected error is logged."""
        pending = asyncio.create_task(request, name="after rebalance")
        self._pending.add(pending)
        pending.add_done_callback(self._done)

    def cancel(self) -> None:
        """Cancel all requests that have not been answered."""
        for pending in self._pending:
            pending.cancel()

    def _done(self, ended: asyncio.Task[None]) -> None:
        self._pending.discard(ended)
        if not ended.cancelled() and (error := ended.exception()) is not None:
            _log.error("A request after a rebalance of group %s failed", self._group_id, exc_info=error)

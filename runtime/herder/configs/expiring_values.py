"""Restarts connectors whose configuration contains values that expire: `config.action.reload` (KIP-297)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

_log = logging.getLogger(__name__)

_ACTION, _RESTART = "config.action.reload", "restart"


class ExpiringValues:
    """A timer for each connector with values that expire. Event loop only."""

    def __init__(self, restart: Callable[[str], None]) -> None:
        """`restart` restarts a connector, without its tasks, as in Connect."""
        self._restart = restart
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def started(self, name: str, config: Mapping[str, str], ttl: float | None) -> None:
        """The connector has started with values that expire in `ttl` seconds; None: never."""
        self.forget(name)
        if ttl is not None and config.get(_ACTION, _RESTART).strip().lower() == _RESTART:
            self._timers[name] = asyncio.get_running_loop().call_later(ttl, self._expired, name)

    def forget(self, name: str) -> None:
        """The connector has stopped."""
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _expired(self, name: str) -> None:
        del self._timers[name]
        _log.info("Connector %s is restarted because a value of its configuration has expired", name)
        self._restart(name)

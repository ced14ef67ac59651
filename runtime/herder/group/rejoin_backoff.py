"""Growing delays between rebalances while the leader assigns nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from runtime.herder.group.leader import worker_id
from runtime.kafka.group.group_member import Place

_log = logging.getLogger(__name__)

REJOIN_DELAY = 0.05
"""Seconds for which changes are collected before a rebalance is requested."""

MAX_REJOIN_DELAY = 5.0
"""Maximum seconds until another rebalance is requested after the leader has assigned nothing."""

REFUSALS_LOGGED = 5
"""Number of assignments in a row that assign nothing, from which on they are logged."""

_BEHIND = (
    "A leader assigns nothing while another worker has read more of the config topic (up to offset {offset}; this "
    "worker: {own}), or while it cannot compute assignments (see its log). If this continues, check that all workers "
    "have the same config.storage.topic and the same Kafka cluster"
)


class RejoinBackoff:
    """Requests another rebalance after the leader has assigned nothing. Event loop only."""

    def __init__(self, group_id: str, rejoin: Callable[[], None]) -> None:
        self._group_id, self._rejoin = group_id, rejoin
        self._refusals = 0  # assignments in a row that assigned nothing
        self._retrying: asyncio.TimerHandle | None = None

    def refused(self, place: Place, own_offset: int) -> None:
        """The leader has assigned nothing. The reason may persist, so the delays grow. `own_offset`: how far this
        worker has read the config topic."""
        self._refusals += 1
        delay = min(REJOIN_DELAY * 2 ** (self._refusals - 1), MAX_REJOIN_DELAY)
        if self._refusals >= REFUSALS_LOGGED:
            _log.warning(
                "Leader %s of group %s has assigned nothing %d times in a row; requesting a rebalance in %.1f s. %s",
                worker_id(place.leader_url),
                self._group_id,
                self._refusals,
                delay,
                _BEHIND.format(offset=place.config_offset, own=own_offset),
            )
        self.cancel()
        self._retrying = asyncio.get_running_loop().call_later(delay, self._rejoin)

    def assigned(self) -> None:
        """The leader has assigned connectors and tasks."""
        self._refusals = 0

    def cancel(self) -> None:
        """Request no further rebalance."""
        if self._retrying is not None:
            self._retrying.cancel()
            self._retrying = None

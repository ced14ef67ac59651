"""Reads offsets of connectors with their lag: from the worker, or the lag from the brokers of the context."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tui import model
from tui.errors import HeadraceError, error_line
from tui.model import Offset
from tui.offsets import lag
from tui.offsets.lag import NO_WARNINGS, Lag, OffsetWarnings
from tui.offsets.seek import in_thread

if TYPE_CHECKING:
    from tui.offsets.brokers import Brokers
    from tui.screens.services.cluster_services import ClusterServices

T = TypeVar("T")
BROKER_RETRY_DELAY = 30.0  # seconds until brokers that did not respond are asked again


class ReadOffsets(NamedTuple):
    """The offsets of a connector, with lag by partition key."""

    offsets: tuple[Offset, ...] = ()
    lags: Mapping[str, Lag] = {}
    warnings: OffsetWarnings = NO_WARNINGS


class OffsetReader:
    """The reader of one page."""

    def __init__(self, services: ClusterServices) -> None:
        self.services = services
        self._brokers: Brokers | None = None
        self._retry_at = 0.0  # on the monotonic clock

    async def read(self, name: str) -> ReadOffsets:
        """Raises HeadraceError if the worker refuses; without brokers the lag is missing."""
        response = await self.services.connect.offsets_in_detail(name)
        offsets = model.offsets(response)
        lags = lag.of_response(response)
        if not lags and not self.services.is_ours:
            lags = await self.ask(name, lambda brokers: lag.of_brokers(offsets, brokers), "no lag") or {}
        return ReadOffsets(offsets, lags, lag.warnings(response))

    async def ask(self, name: str, request: Callable[[Brokers], T], trouble: str) -> T | None:
        """The result of a request to the brokers of the context, in a thread. None without brokers, and after an error,
        which is reported after the word `trouble`."""
        if not self.services.profile.bootstrap or time.monotonic() < self._retry_at:
            return None
        try:
            self._brokers = brokers = self._brokers or self.services.context().cluster.brokers()
            return await in_thread(lambda: request(brokers))
        except HeadraceError as error:
            self._retry_at = time.monotonic() + BROKER_RETRY_DELAY
            self.services.report(f"{trouble}: {error_line(error)}", "warn", name)
            return None

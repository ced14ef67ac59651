"""Samples the offsets and lag of a connector, from its worker or from the brokers of the context."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from tui.metrics import offset_rates
from tui.metrics.offset_rates import SampleHistory
from tui.model import Connector
from tui.offsets import partitions
from tui.screens.services.cluster_services import ClusterServices

if TYPE_CHECKING:
    from tui.client.responses import OffsetsResponse
    from tui.offsets.brokers import Brokers


class Sampler:
    """Keeps the samples of each connector while the console is open."""

    def __init__(self, services: ClusterServices) -> None:
        self.services = services
        self._histories: dict[str, SampleHistory] = {}
        self._brokers: Brokers | None = None

    def of(self, name: str) -> SampleHistory:
        return self._histories.setdefault(name, SampleHistory())

    async def sample(self, one: Connector) -> str:
        """Adds a sample and returns the unit of its positions. Raises HeadraceError."""
        answer = await self.services.connect.offsets_in_detail(one.name)
        if one.type == "sink" and self.services.profile.bootstrap:
            await asyncio.to_thread(self._ends, answer)
        entries = answer.get("offsets") or ()
        shown = {place: partitions.shown(entry.get("partition")) for place, entry in enumerate(entries)}
        self.of(one.name).add(offset_rates.sample(time.time(), answer, shown))
        return offset_rates.unit(answer)

    def _ends(self, answer: OffsetsResponse) -> None:
        """Adds end offsets and lag from the brokers to entries for which the worker reports no lag."""
        entries = [entry for entry in answer.get("offsets") or () if entry.get("lag") is None]
        at = {number: _topic_partition(entry.get("partition")) for number, entry in enumerate(entries)}
        if not any(at.values()):
            return
        if self._brokers is None:
            self._brokers = self.services.context().brokers()
        ends = self._brokers.ends([place for place in at.values() if place])
        for number, entry in enumerate(entries):
            end, position = ends.get(at[number] or ("", -1)), offset_rates.position(entry.get("offset"))
            if end is not None and position is not None:
                entry |= {"end": end, "lag": {"records": max(0, end - int(position))}}


def _topic_partition(partition: Any) -> tuple[str, int] | None:
    try:
        return str(partition["kafka_topic"]), int(partition["kafka_partition"])
    except (TypeError, KeyError, ValueError):
        return None

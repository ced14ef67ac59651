"""The overview of all clusters: one small request each, with back-off while a cluster does not respond."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple

from tui import model
from tui.back_off import BackOff, jittered
from tui.client.client import Connect
from tui.cluster.snapshot import ClusterLink, LinkState, lost_link
from tui.contexts.profiles import Profile
from tui.errors import TimedOut
from tui.model import SEVERITY, Connector

POLL_INTERVAL = 10.0  # seconds
POLL_TIMEOUT = 15.0  # seconds for one refresh
BACK_OFF = BackOff(2.0, 60.0)

OpenConnection = Callable[[Profile], Connect]


class ClusterSummary(NamedTuple):
    """A summary of one cluster. `counts` has the connectors by state, and is kept while the cluster is lost."""

    profile: Profile
    link: ClusterLink = ClusterLink()
    version: str = ""
    kind: str = ""  # Headrace, or Apache for other workers
    cluster_id: str = ""
    counts: Mapping[str, int] = {}

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    @property
    def worst(self) -> str:
        """The most severe state; empty without connectors."""
        return min(self.counts, key=severity, default="")


def severity(state: str) -> int:
    return SEVERITY.index(state if state in SEVERITY else "UNKNOWN")


def counted_states(connectors: Iterable[Connector]) -> dict[str, int]:
    counts = Counter(connector.overall for connector in connectors)
    return {state: counts[state] for state in sorted(counts, key=severity)}


def root_facts(root: object) -> dict[str, str]:
    """Version, kind and Kafka's cluster id from the response to `GET /`."""
    known = root if isinstance(root, dict) else {}
    ours = str(known.get("commit") or "").startswith("headrace-")
    return {
        "version": str(known.get("version") or ""),
        "kind": "Headrace" if ours else "Apache",
        "cluster_id": str(known.get("kafka_cluster_id") or ""),
    }


class ClusterOverview:
    """Watches all clusters while `run` runs. `changed` is called on the event loop after each refresh."""

    def __init__(
        self,
        profiles: Iterable[Profile],
        open_connection: OpenConnection,
        changed: Callable[[ClusterSummary], None],
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.summaries = {profile.label: ClusterSummary(profile) for profile in profiles}
        self._open_connection, self._changed = open_connection, changed
        self._clock, self._sleep, self._chance = clock, sleep, chance

    async def run(self) -> None:
        await asyncio.gather(*(self._watch(label) for label in self.summaries))

    async def _watch(self, label: str) -> None:
        """Runs until cancelled; neither a failure of a cluster nor a bug in the console ends the loop."""
        connect: Connect | None = None
        failures = 0
        try:
            while True:
                try:
                    connect = connect or self._open_connection(self.summaries[label].profile)
                    await self._look(label, connect)
                    failures, wait = 0, jittered(POLL_INTERVAL, self._chance)
                except Exception as error:  # the other clusters must be shown
                    failures += 1
                    wait = jittered(BACK_OFF.pause(failures), self._chance)
                    link = self.summaries[label].link
                    self._put(label, link=lost_link(link, self._clock() + wait, error))
                await self._sleep(wait)
        finally:
            if connect is not None:
                await connect.close()

    async def _look(self, label: str, connect: Connect) -> None:
        """Refreshes a summary. After an outage it includes the root: worker or version may have changed."""
        try:
            async with asyncio.timeout(POLL_TIMEOUT):
                if self.summaries[label].link.state is not LinkState.POLLING:
                    self._put(label, **root_facts(await connect.root()))
                statuses = await connect.statuses()
        except TimeoutError:
            raise TimedOut(f"{connect.url} gave no response within {POLL_TIMEOUT:g} s") from None
        counts = counted_states(model.connector(name, status) for name, status in statuses.items())
        self._put(label, counts=counts, link=ClusterLink(LinkState.POLLING, self._clock()))

    def _put(self, label: str, **changes: Any) -> None:
        self.summaries[label] = self.summaries[label]._replace(**changes)
        self._changed(self.summaries[label])

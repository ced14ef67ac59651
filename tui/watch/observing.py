"""Observes all connectors of a cluster with few requests, as far as some conditions need it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from tui import model
from tui.client import checking, sse
from tui.client.client import Connect
from tui.errors import HeadraceError, NotFound, Refused, Unreachable
from tui.metrics.failure_rate import RecordCounts, record_counts
from tui.watch.conditions import Observation

if TYPE_CHECKING:
    from tui.model import Connector
    from tui.offsets.brokers import Brokers
    from tui.offsets.group_lag import GroupLag

SNAPSHOT_TIMEOUT = 15.0  # seconds
FAILURE_WINDOW = 5.0  # seconds between two observations that a single failure rate needs
_REPORTED = {"lag", "stalled", "failures"}
Json = Any


class Observer:
    """Headrace workers report states and progress of all connectors in one answer; other workers report states, and the
    brokers of the context the lag of sinks."""

    def __init__(
        self, connect: Connect, brokers: Callable[[], Brokers] | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        """`brokers` connects to the brokers of the context; None if it names none."""
        self._connect, self._brokers, self._clock = connect, brokers, clock
        self._counts: dict[str, RecordCounts] = {}
        self._is_ours: bool | None = None

    async def observe(self, subjects: Collection[str]) -> list[Observation]:
        """What the conditions with these subjects need, for each connector. Raises HeadraceError."""
        if self._is_ours is not False and _REPORTED & set(subjects):
            found = await self._from_events()
            if found is not None:
                if "failures" in subjects and not self._counts:
                    self._rates(found[1])
                    await self._connect.sleep(FAILURE_WINDOW)
                    found = await self._from_events() or found
                return await self._with_expiry(self._observed(*found), subjects)
        seen = [Observation(one) for one in model.connectors(await self._connect.expanded()).values()]
        if "lag" in subjects and self._brokers is not None:
            seen = self._with_lag(seen, self._brokers())
        return await self._with_expiry(seen, subjects)

    async def _from_events(self) -> tuple[dict[str, Connector], Mapping[str, Json]] | None:
        """The first event of a Headrace worker, which describes all connectors; None from another worker."""
        try:
            async with aclosing(self._connect.lines("/events", SNAPSHOT_TIMEOUT)) as lines:
                async for event in sse.parse(lines):
                    if event.name == "snapshot":
                        data = checking.event(event.name, event.data)
                        self._is_ours = True
                        return model.connectors(data["connectors"]), data.get("progress") or {}
        except NotFound:
            self._is_ours = False
            return None
        raise HeadraceError(f"{self._connect.url} sent no connectors within {SNAPSHOT_TIMEOUT:g} s")

    def _observed(self, connectors: Mapping[str, Connector], progress: Mapping[str, Json]) -> list[Observation]:
        rates = self._rates(progress)
        seen = []
        for name, one in connectors.items():
            reported = progress.get(name) or {}
            lag = (reported.get("lag") or {}).get("records")
            seen.append(Observation(one, lag, rates.get(name, 0.0), tuple(reported.get("stalled") or ())))
        return seen

    def _rates(self, progress: Mapping[str, Json]) -> dict[str, float]:
        """Failed records a second since the last call."""
        now = self._clock()
        counts = {name: record_counts(one, now) for name, one in progress.items()}
        rates = {name: one.since(self._counts[name]).rate for name, one in counts.items() if name in self._counts}
        self._counts = counts
        return rates

    def _with_lag(self, seen: list[Observation], brokers: Brokers) -> list[Observation]:
        from tui.offsets.group_lag import of_sinks

        lags = of_sinks(brokers, [one.connector for one in seen if one.connector.type == "sink"])
        without_answer = [found for found in lags.values() if isinstance(found, Unreachable)]
        if without_answer and len(without_answer) == len(lags):
            raise without_answer[0]
        return [_measured(one, lags.get(one.connector.name)) for one in seen]

    async def _with_expiry(self, seen: list[Observation], subjects: Collection[str]) -> list[Observation]:
        return [await self._expiry(one) for one in seen] if "expires" in subjects else seen

    async def _expiry(self, one: Observation) -> Observation:
        if one.connector.type != "sink" or one.connector.state != "STOPPED":
            return one
        return with_expiry(one, await expiry_of(self._connect, one.connector.name))


def _measured(one: Observation, found: GroupLag | HeadraceError | None) -> Observation:
    if found is None:
        return one
    return one._replace(lag_error=str(found)) if isinstance(found, HeadraceError) else one._replace(lag=found.lag)


async def expiry_of(connect: Connect, name: str) -> Mapping[str, Json] | None:
    """The offsets of a stopped sink in detail; None if the worker refuses, or does not report when they expire."""
    try:
        answer = await connect.offsets_in_detail(name)
    except Refused:
        return None
    return answer if "expires_at" in answer else None


def with_expiry(one: Observation, answer: Mapping[str, Json] | None) -> Observation:
    """The observation with the time at which the offsets expire."""
    at = None if answer is None else answer.get("expires_at")
    return one._replace(expires_at=None if at is None else at / 1000, knows_expiry=answer is not None)

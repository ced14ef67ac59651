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
    """Headrace workers report states and progress of all connectors in one response; other workers report states. The
    brokers of the context report the lag of sinks whose worker does not: of another worker, or without a task."""

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
            connectorses = await self._from_events()
            if connectorses is not None:
                if "failures" in subjects and not self._counts:
                    self._rates(connectorses[1])
                    await self._connect.sleep(FAILURE_WINDOW)
                    connectorses = await self._from_events() or connectorses
                return await self._complete(self._observed(*connectorses), subjects)
        connectors = model.connectors(await self._connect.expanded()).values()
        return await self._complete([Observation(connector) for connector in connectors], subjects)

    async def _complete(self, seen: list[Observation], subjects: Collection[str]) -> list[Observation]:
        """Adds to the worker's report the lag of sinks, from the brokers, and the expiry of offsets."""
        if "lag" in subjects and self._brokers is not None:
            seen = self._with_lag(seen, self._brokers)
        return [await self._expiry(observation) for observation in seen] if "expires" in subjects else seen

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
        for name, connector in connectors.items():
            reported = progress.get(name) or {}
            lag = (reported.get("lag") or {}).get("records")
            seen.append(Observation(connector, lag, rates.get(name, 0.0), tuple(reported.get("stalled") or ())))
        return seen

    def _rates(self, progress: Mapping[str, Json]) -> dict[str, float]:
        """Failed records a second since the last call."""
        now = self._clock()
        counts = {name: record_counts(entry, now) for name, entry in progress.items()}
        rates = {name: counts.since(self._counts[name]).rate for name, counts in counts.items() if name in self._counts}
        self._counts = counts
        return rates

    def _with_lag(self, seen: list[Observation], brokers: Callable[[], Brokers]) -> list[Observation]:
        """Errors of the brokers are raised unless the worker itself reports lag."""
        from tui.offsets.group_lag import of_sinks

        unknown = [each.connector for each in seen if each.connector.type == "sink" and each.lag is None]
        if not unknown:
            return seen
        lags: Mapping[str, GroupLag | HeadraceError]
        try:
            lags = of_sinks(brokers(), unknown)
            without_response = [error for error in lags.values() if isinstance(error, Unreachable)]
            if without_response and len(without_response) == len(lags):
                raise without_response[0]
        except HeadraceError as error:
            if not self._is_ours:
                raise
            lags = {sink.name: error for sink in unknown}
        return [_measured(observation, lags.get(observation.connector.name)) for observation in seen]

    async def _expiry(self, observation: Observation) -> Observation:
        if observation.connector.type != "sink" or observation.connector.state != "STOPPED":
            return observation
        return with_expiry(observation, await expiry_of(self._connect, observation.connector.name))


def _measured(observation: Observation, group_lag: GroupLag | HeadraceError | None) -> Observation:
    if group_lag is None:
        return observation
    return (
        observation._replace(lag_error=str(group_lag))
        if isinstance(group_lag, HeadraceError)
        else observation._replace(lag=group_lag.lag)
    )


async def expiry_of(connect: Connect, name: str) -> Mapping[str, Json] | None:
    """The offsets of a stopped sink in detail; None if the worker refuses, or does not report when they expire."""
    try:
        response = await connect.offsets_in_detail(name)
    except Refused:
        return None
    return response if "expires_at" in response else None


def with_expiry(observation: Observation, response: Mapping[str, Json] | None) -> Observation:
    """The observation with the time at which the offsets expire."""
    at = None if response is None else response.get("expires_at")
    return observation._replace(expires_at=None if at is None else at / 1000, knows_expiry=response is not None)

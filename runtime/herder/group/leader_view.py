"""What the leader of a group decides on: the units that exist, their previous owners, and the absent workers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from runtime.herder.group.assignor import Unit
from runtime.herder.group.departures import Departures
from runtime.herder.group.group import WorkerState
from runtime.herder.group.leader import GroupView
from runtime.herder.group.task_loads import Loads
from runtime.kafka.errors import KafkaProblem
from runtime.kafka.group.protocol import CONNECTOR
from runtime.storage.configs import ConfigStore
from runtime.storage.statuses import StatusStore

CONNECTOR_WEIGHT, TASK_WEIGHT = 0.05, 0.25
"""Weights of an idle connector and an idle task, in processor cores; the measured load of tasks is added."""


READ_TIMEOUT = 1.5
"""Seconds for reading the config topic, while the other workers wait for their assignments."""


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """`delay` is `scheduled.rebalance.max.delay.ms` in seconds; `url` the worker's REST API (`http://host:port/`).
    `mixed`: workers of another implementation may be members, too. `elsewhere`: the slots run on a cluster. `topics`:
    the storage topics by the worker's properties."""

    url: str
    version: str
    slots: int
    delay: float
    mixed: bool = False
    elsewhere: bool = False
    topics: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ViewSources:
    """The data for the leader's decisions, in addition to configurations and statuses.

    `states` are the workers that operators have cordoned or are draining, `loads` the measured loads of this worker's
    tasks. `has_class` tells whether this worker has a connector class."""

    departures: Departures
    states: Callable[[], Mapping[str, WorkerState]] = dict
    loads: Callable[[], Loads] = dict
    has_class: Callable[[str], Awaitable[bool]] | None = None


class LeaderView:
    """Collects the view from the stores. Event loop only."""

    def __init__(
        self, settings: GroupSettings, configs: ConfigStore, statuses: StatusStore, sources: ViewSources
    ) -> None:
        self._settings, self._configs, self._statuses, self._sources = settings, configs, statuses, sources

    async def collect(self, offset: int, awaited: Iterable[str]) -> GroupView:
        """The view, with the config topic read up to `offset` if that is quickly possible. `awaited` are the ids
        of the workers of the last generation for whose return units wait."""
        if self._configs.offset < offset:
            with contextlib.suppress(KafkaProblem, TimeoutError):
                async with asyncio.timeout(READ_TIMEOUT):
                    await self._configs.read_to_end()
        weights, previous = {}, {}
        for name in self._configs.names():
            for task in self.units(name):
                weights[Unit(name, task)] = CONNECTOR_WEIGHT if task == CONNECTOR else TASK_WEIGHT
            if (status := self._statuses.connector_status(name)) is not None:
                previous[Unit(name, CONNECTOR)] = status.worker_id
            previous.update({Unit(name, i): s.worker_id for i, s in self._statuses.task_statuses(name).items()})
        return GroupView(
            self._configs.offset,
            weights,
            previous,
            self._sources.departures.times(),
            await self.foreign(),
            delay=self._settings.delay,
            awaited=frozenset(awaited),
            states=self._sources.states(),
            mixed=self._settings.mixed,
        )

    async def foreign(self) -> list[str]:
        """Connectors whose class only workers of another implementation have."""
        has_class = self._sources.has_class
        if not self._settings.mixed or has_class is None:
            return []
        stored = [
            connector for name in self._configs.names() if (connector := self._configs.connector(name)) is not None
        ]
        known = {
            cls: await has_class(cls) for cls in {connector.config.get("connector.class", "") for connector in stored}
        }
        return [connector.name for connector in stored if not known[connector.config.get("connector.class", "")]]

    def units(self, name: str) -> frozenset[int]:
        """The connector and its tasks, as stored; empty if it does not exist."""
        stored = self._configs.connector(name)
        return frozenset() if stored is None else frozenset((CONNECTOR, *range(len(stored.tasks))))

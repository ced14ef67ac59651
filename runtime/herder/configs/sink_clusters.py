"""The Kafka clusters of sinks: where their consumers commit, and with which credentials the worker asks there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from runtime.api.errors import ConfigError
from runtime.config.worker_config import WorkerConfig
from runtime.herder.configs.override_policy import policy_of
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.kafka.clients.settings import group_config
from runtime.kafka.errors import ClientConfigError
from runtime.kafka.groups import Groups
from runtime.kafka.positions import Positions
from runtime.model.states import ConnectorType

_OVERRIDES = ("admin.override.", "consumer.override.")
_CLIENTS = 64
"""Different clusters and credentials whose clients are kept."""

Settings = Mapping[str, Any]
"""librdkafka settings that reach a cluster."""


@dataclass(frozen=True, slots=True)
class SinkCluster:
    """Requests to the cluster in which a sink commits."""

    groups: Groups
    positions: Positions
    is_workers: bool
    """Whether it is the cluster of the worker's own topics."""


def is_elsewhere(config: Mapping[str, str]) -> bool:
    """Whether a sink's configuration names the brokers of its clients."""
    return any(f"{prefix}bootstrap.servers" in config for prefix in _OVERRIDES)


class SinkClusters:
    """Finds the cluster of a sink. Event loop only.

    Sinks with the same settings share their clients, so that a starting worker asks for a thousand groups at once."""

    def __init__(
        self, worker: WorkerConfig, host: ResolvingHost, stored: Callable[[str], Mapping[str, str] | None],
        groups: Callable[[Settings], Groups] = Groups, positions: Callable[[Settings], Positions] = Positions,
    ) -> None:  # fmt: skip
        """`stored` returns the configuration of a stored connector."""
        self._worker, self._host, self._stored = worker, host, stored
        self._policy = policy_of(worker)

        def reach(settings: tuple[tuple[str, Any], ...]) -> SinkCluster:
            reaching = dict(settings)
            is_workers = reaching["bootstrap.servers"] == worker.bootstrap_servers
            return SinkCluster(groups(reaching), positions(reaching), is_workers)

        self._reach = lru_cache(_CLIENTS)(reach)

    async def of(self, name: str, config: Mapping[str, str] | None = None) -> SinkCluster:
        """The cluster of a sink with this configuration, or with the stored one; that of the worker's admin client for
        a connector that is not stored. ClientConfigError if the overrides cannot be used."""
        config = self._stored(name) or {} if config is None else config
        given = {key: text for key, text in config.items() if key.startswith(_OVERRIDES)}
        try:
            resolved = await self._host.resolve_stored(name, given, part="clients") if given else {}
        except ConfigError as e:
            raise ClientConfigError(f"the configuration of connector {name} cannot be resolved: {e}") from None
        return await self.of_resolved(name, {**config, **resolved})

    async def of_resolved(self, name: str, config: Mapping[str, str]) -> SinkCluster:
        """As of(), for a configuration with variables resolved."""
        await self._check_allowed(name, config)
        return self._reach(tuple(sorted(group_config(self._worker.originals, config).items())))

    async def _check_allowed(self, name: str, config: Mapping[str, str]) -> None:
        """Connect asks the policy about a sink's admin client when it is used, not when the sink is created, unless it
        also writes dead letters."""
        prefix = _OVERRIDES[0]
        admin = {key.removeprefix(prefix): text for key, text in config.items() if key.startswith(prefix)}
        if not admin:
            return
        cls = config.get("connector.class", "")
        asked = asyncio.to_thread(self._policy.refusals, name, ConnectorType.SINK, cls, "admin", admin)
        for key, (reason, *_) in (await asked).items():
            raise ClientConfigError(f"{prefix}{key} of connector {name} cannot be used: {reason}")

"""Plugins of the worker itself that are not written in Python: config providers and the policy for client settings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable


class ConfigProvider(Protocol):
    """A source of values, which is asked once for all keys of a path that a configuration names, as in Connect: they
    are of the same version."""

    def values(self, path: str, keys: Collection[str]) -> Mapping[str, str | None]:
        """The values; a key that does not exist is left out or None. ConfigError if the path cannot be read or is not
        allowed."""


@runtime_checkable
class ExpiringProvider(Protocol):
    """A config provider whose values may expire."""

    def ttl(self, path: str) -> float | None:
        """Seconds after which the last values of this path expire; None: never, or not known."""


class ClientPolicy(Protocol):
    """Which settings of Kafka clients connectors may override (KIP-458)."""

    def refusals(
        self, name: str, kind: str, connector_class: str, client: str, settings: Mapping[str, str], parsed: bool = False
    ) -> Mapping[str, Sequence[str]]:
        """The reasons for each setting of a `client` (producer, consumer, admin) that a connector must not override, or
        must override. `kind` is source or sink. `parsed`: the policy gets values of the settings' types, as in a
        validation. May take seconds."""


@runtime_checkable
class MonitoredPolicy(Protocol):
    """A policy that registers metrics (KIP-877)."""

    @property
    def metrics(self) -> Sequence[tuple[str, Mapping[str, str], float, str]]:
        """Name, labels, value and description of each."""


class ForeignPlugins(Protocol):
    """Finds plugins by class name or alias; `props` are the worker's properties. Raises ConfigError for a plugin that
    exists but cannot be used."""

    def provider(self, props: Mapping[str, str], cls: str, parameters: Mapping[str, str]) -> ConfigProvider | None:
        """A configured config provider; None if there is none of this name."""

    def policy(self, props: Mapping[str, str], cls: str) -> ClientPolicy | None:
        """A configured policy; None if there is none of this name."""


class NoForeignPlugins:
    """There are none."""

    def provider(self, props: Mapping[str, str], cls: str, parameters: Mapping[str, str]) -> ConfigProvider | None:
        return None

    def policy(self, props: Mapping[str, str], cls: str) -> ClientPolicy | None:
        return None


NONE = NoForeignPlugins()

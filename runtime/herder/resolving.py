"""The plugin host, given configurations with their variables resolved; nothing resolved comes back from it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, TypeVar

from runtime.api.errors import ConfigError
from runtime.config_providers import Providers, has_variables
from runtime.herder.checks import WorkerChecks
from runtime.host.port import BadRequestError, ConnectorInfo, HostError, PluginHost
from runtime.secret_values import Secrets, passwords

_T = TypeVar("_T")


class ResolvingHost:
    """A PluginHost in front of another. Event loop only."""

    def __init__(self, host: PluginHost, providers: Providers, secrets: Secrets, checks: WorkerChecks) -> None:
        self._host, self._providers, self._secrets, self._checks = host, providers, secrets, checks
        self._raw: dict[str, Mapping[str, str]] = {}
        self._password_keys: dict[str, frozenset[str]] = {}

    async def start(self) -> None:
        await self._host.start()

    async def close(self) -> None:
        await self._host.close()

    async def plugins(self, connectors_only: bool) -> list[dict[str, str]]:
        return await self._host.plugins(connectors_only)

    async def resolve(self, connector_class: str) -> ConnectorInfo:
        """The class may be a variable; ConfigError when its provider refuses."""
        if has_variables(connector_class):
            connector_class = (await self.resolved({"": connector_class}))[""]
        return await self._host.resolve(connector_class)

    async def describe(self, plugin: str, version: str | None = None) -> list[dict[str, Any]]:
        return await self._host.describe(plugin, version)

    async def validate(self, config: Mapping[str, str | None]) -> dict[str, Any]:
        """The answer shows variables as they were given, and errors without what they stand for."""
        try:
            resolved = await self.resolved({k: v for k, v in config.items() if v is not None})
        except ConfigError as e:
            raise BadRequestError(str(e)) from None
        answer = await self._scrubbed(self._host.validate({**config, **resolved}))
        self._checks.apply((await self._host.resolve(resolved["connector.class"])).type, resolved, answer)
        for entry in answer["configs"]:
            value, given = entry["value"], config.get(entry["value"]["name"])
            if (entry["definition"] or {}).get("type") == "PASSWORD" and given:
                self._secrets.add([resolved[value["name"]]])
            if has_variables(given):
                value["value"] = given
        for entry in answer["configs"]:
            entry["value"]["errors"] = [self._secrets.scrub(e) for e in entry["value"]["errors"]]
        return answer

    async def start_connector(self, name: str, config: Mapping[str, str]) -> None:
        try:
            resolved = await self.resolved(config)
        except ConfigError as e:
            raise HostError("config", str(e), f"{e.java_name}: {e}\n") from None
        await self._learn_passwords(resolved)
        self._raw[name] = config
        await self._scrubbed(self._host.start_connector(name, resolved))

    async def stop_connector(self, name: str) -> None:
        await self._host.stop_connector(name)

    async def task_configs(self, name: str, max_tasks: int) -> list[dict[str, str]]:
        """As they are stored: with variables where the connector's config has them."""
        raw = self._raw.get(name, {})
        configs = await self._scrubbed(self._host.task_configs(name, max_tasks))
        return [self._providers.keep_variables(raw, config) for config in configs]

    async def alter_source_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        return await self._scrubbed(self._host.alter_source_offsets(await self._for_offsets(config), offsets))

    async def alter_sink_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[str, int, int | None]]
    ) -> bool:
        return await self._scrubbed(self._host.alter_sink_offsets(await self._for_offsets(config), offsets))

    async def resolved(self, config: Mapping[str, str]) -> dict[str, str]:
        """The config with values in place of variables; ConfigError from a provider. Passwords are secrets from now."""
        found = await asyncio.to_thread(self._providers.resolve, config) if self._providers.by_name else None
        resolved = dict(config) if found is None else found.config
        self._secrets.add(found.secrets if found is not None else ())
        self._secrets.add(passwords(resolved))
        return resolved

    async def value(self, config: Mapping[str, str], key: str) -> str | None:
        """One value of a config, resolved where it has variables; ConfigError from a provider."""
        given = config.get(key)
        return (await self.resolved({key: given}))[key] if given is not None and has_variables(given) else given

    async def _for_offsets(self, config: Mapping[str, str]) -> dict[str, str]:
        try:
            return await self.resolved(config)
        except ConfigError as e:
            raise BadRequestError(str(e)) from None

    async def _learn_passwords(self, config: Mapping[str, str]) -> None:
        """Values of the keys that the connector's class defines as passwords."""
        cls = config.get("connector.class", "")
        if cls not in self._password_keys:
            keys = await self._host.describe(cls)
            self._password_keys[cls] = frozenset(k["name"] for k in keys if k["type"] == "PASSWORD")
        self._secrets.add(config[k] for k in self._password_keys[cls] if config.get(k))

    async def _scrubbed(self, call: Awaitable[_T]) -> _T:
        """What a plugin says of its failure may quote what it was given."""
        try:
            return await call
        except HostError as e:
            e.message, e.trace = self._secrets.scrub(e.message), self._secrets.scrub(e.trace)
            e.args = (e.message,)
            raise

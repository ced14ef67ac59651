"""The plugin host with variables resolved in configurations, and resolved values removed from answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from runtime.api.errors import ConfigError
from runtime.config.providers import has_variables
from runtime.config.secret_values import WORKER, CallSecrets, Secrets, passwords, scrubber
from runtime.config.worker_config import WorkerConfig
from runtime.herder.configs.checks import WorkerChecks
from runtime.herder.configs.password_keys import CONVERTERS, PasswordKeys
from runtime.host.port import ConnectorInfo, HostError, HostRequestError, PluginHost, UnknownPluginError
from runtime.kafka.errors import ClientConfigError
from runtime.logs.formats import Scrub
from runtime.plugins.plan import selects_plugins
from runtime.system.loop_turns import LoopTurns

_log = logging.getLogger(__name__)

_ACTION, _RESTART = "config.action.reload", "restart"


class ExpiringValues:
    """A timer for each connector with values that expire. Event loop only."""

    def __init__(self, restart: Callable[[str], None]) -> None:
        """`restart` restarts a connector, without its tasks, as in Connect."""
        self._restart = restart
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def started(self, name: str, config: Mapping[str, str], ttl: float | None) -> None:
        """The connector has started with values that expire in `ttl` seconds; None: never."""
        self.forget(name)
        if ttl is not None and config.get(_ACTION, _RESTART).strip().lower() == _RESTART:
            self._timers[name] = asyncio.get_running_loop().call_later(ttl, self._expired, name)

    def forget(self, name: str) -> None:
        """The connector has stopped."""
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.cancel()

    def _expired(self, name: str) -> None:
        del self._timers[name]
        _log.info("Connector %s is restarted because a value of its configuration has expired", name)
        self._restart(name)


class ResolvingHost:
    """A PluginHost that resolves variables before it calls another PluginHost. Event loop only.

    `secrets` holds the secrets of stored connectors, `call_secrets` those of running calls, which are hidden in the
    output of plugins.
    """

    def __init__(
        self, host: PluginHost, worker: WorkerConfig, secrets: Secrets, call_secrets: CallSecrets,
        checks: WorkerChecks, restart: Callable[[str], None] = lambda name: None,
    ) -> None:  # fmt: skip
        """`restart` restarts a connector of this worker."""
        self._host, self._worker, self._checks, self._expiring = host, worker, checks, ExpiringValues(restart)
        self._providers = worker.providers
        self._secrets, self._call_secrets = secrets, call_secrets
        self._knows_worker_passwords = False
        self._raw: dict[str, Mapping[str, str]] = {}
        self.password_keys = PasswordKeys(host.describe)

    async def start(self) -> None:
        await self._host.start()

    async def close(self) -> None:
        await self._host.close()

    async def plugins(self, connectors_only: bool) -> list[dict[str, str]]:
        return await self._host.plugins(connectors_only)

    async def resolve(self, connector_class: str, config: Mapping[str, str | None] | None = None) -> ConnectorInfo:
        """The class, and other keys that select plugins, may be variables; ConfigError from their config providers."""
        selecting = await self.selecting({**(config or {}), "connector.class": connector_class})
        return await self._host.resolve(selecting["connector.class"], None if config is None else selecting)

    async def selecting(self, config: Mapping[str, str | None]) -> dict[str, str]:
        """The keys of a configuration that select plugins, with variables resolved. ConfigError from a config
        provider."""
        selecting = {key: value for key, value in config.items() if value is not None and selects_plugins(key)}
        return (await self.resolved(selecting))[0] if any(map(has_variables, selecting.values())) else selecting

    async def check_overrides(self, kind: str, resolved: Mapping[str, str]) -> None:
        """ClientConfigError if the policy for client overrides refuses one of a task that starts."""
        if refused := await asyncio.to_thread(self._checks.refused_override, kind, resolved):
            raise ClientConfigError(f"Client Config Overrides not allowed: {refused}")

    async def describe(self, plugin: str, version: str | None = None) -> list[dict[str, Any]]:
        return await self._host.describe(plugin, version)

    async def validate(self, config: Mapping[str, str | None], text_only: bool = False) -> dict[str, Any]:
        """The response contains variables unresolved, and nothing else contains their values. Only the secrets of this
        configuration are hidden: those of others would show a caller which parts of the configuration equal them. No
        code of a plugin runs for a configuration with paths outside of headrace.file.paths, which it might open."""
        if text_only:
            return await self._validate_text(config)
        try:
            resolved, secrets, hidden = await self._with_secrets({k: v for k, v in config.items() if v is not None})
            outside = await asyncio.to_thread(self._checks.refuses_paths, resolved)  # files are looked up
            with self._scrubbing(scrubber(hidden), hidden):
                response = await self._host.validate({**config, **resolved}, text_only=outside)
            response.pop("unchecked", None)
            kind = (await self._host.resolve(resolved["connector.class"])).type
            await asyncio.to_thread(self._checks.apply, kind, resolved, response)  # may ask a Java policy
            for entry in response["configs"]:
                value, given = entry["value"], config.get(entry["value"]["name"])
                if (entry["definition"] or {}).get("type") == "PASSWORD" and given:
                    hidden.add(resolved[value["name"]])
                if has_variables(given):
                    value["value"] = given
            scrub = scrubber(hidden)
        except ConfigError as e:
            raise HostRequestError(str(e)) from None
        for entry in response["configs"]:
            entry["value"]["errors"] = [scrub(e) for e in entry["value"]["errors"]]
        return mapped(scrubber(secrets), response) if secrets else response

    async def _validate_text(self, config: Mapping[str, str | None]) -> dict[str, Any]:
        """Nothing is resolved, so that nothing has to be hidden."""
        response = await self._host.validate(config, text_only=True)
        kind = (await self._host.resolve(config["connector.class"] or "")).type
        given = {key: value for key, value in config.items() if value is not None and not has_variables(value)}
        self._checks.apply(kind, given, response, text_only=True)
        return response

    async def start_connector(self, name: str, config: Mapping[str, str]) -> None:
        try:
            resolved = await self.resolve_stored(name, config)
        except ConfigError as e:
            raise HostError("config", str(e), f"{e.java_name}: {e}\n") from None
        self._raw[name] = config
        self._expiring.started(name, config, self._providers.ttl(config))
        with self._scrubbing(self._secrets.scrub):
            await self._host.start_connector(name, resolved)

    async def stop_connector(self, name: str) -> None:
        self._raw.pop(name, None)
        self._expiring.forget(name)
        await self._host.stop_connector(name)

    async def task_configs(self, name: str, max_tasks: int) -> list[dict[str, str]]:
        """Task configs as they are stored: with the variables of the connector's configuration."""
        raw = self._raw.get(name, {})
        with self._scrubbing(self._secrets.scrub):
            configs = await self._host.task_configs(name, max_tasks)
        turns, kept = LoopTurns(), []
        for config in configs:
            await turns.next()
            kept.append(self._providers.keep_variables(raw, config))
        return kept

    async def alter_source_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        resolved, hidden, scrub = await self._for_offsets(config)
        with self._scrubbing(scrub, hidden):
            return await self._host.alter_source_offsets(resolved, offsets)

    async def alter_sink_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[str, int, int | None]]
    ) -> bool:
        resolved, hidden, scrub = await self._for_offsets(config)
        with self._scrubbing(scrub, hidden):
            return await self._host.alter_sink_offsets(resolved, offsets)

    async def resolved(self, config: Mapping[str, str]) -> tuple[dict[str, str], set[str]]:
        """The configuration with variables resolved, and the values that must not be shown. ConfigError from a
        config provider."""
        resolved, _, hidden = await self._with_secrets(config)
        return resolved, hidden | await self.password_keys.values(resolved)

    async def resolve_stored(self, name: str, config: Mapping[str, str], part: str = "") -> dict[str, str]:
        """As resolved(), for a stored connector: its secrets are hidden everywhere until the connector is deleted.
        `part` separates the secrets of its tasks."""
        if not self._knows_worker_passwords:
            await self._keep_worker_passwords()
        resolved, hidden = await self.resolved(config)
        self._secrets.keep(name, hidden, part)
        return resolved

    async def value(self, config: Mapping[str, str], key: str) -> str | None:
        """One value of a configuration with variables resolved; ConfigError from a config provider."""
        given = config.get(key)
        if given is None or not has_variables(given):
            return given
        resolved, _ = await self.resolved({key: given})
        return resolved[key]

    async def _with_secrets(self, config: Mapping[str, str]) -> tuple[dict[str, str], Collection[str], set[str]]:
        """The configuration with variables resolved, the values of the variables, and these with all passwords."""
        if not self._providers.by_name or not any(map(has_variables, config.values())):
            return dict(config), (), passwords(config)
        resolved = await asyncio.to_thread(self._providers.resolve, config)
        return resolved.config, resolved.secrets, {*resolved.secrets, *passwords(resolved.config)}

    async def _for_offsets(self, config: Mapping[str, str]) -> tuple[dict[str, str], set[str], Scrub]:
        try:
            resolved, hidden = await self.resolved(config)
            return resolved, hidden, scrubber(hidden)
        except ConfigError as e:
            raise HostRequestError(str(e)) from None

    async def _keep_worker_passwords(self) -> None:
        """Hide the passwords of the worker's own converters, as their plugins define them."""
        converters = {k: v for k, v in self._worker.originals.items() if k.startswith(CONVERTERS)}
        self._secrets.keep(WORKER, await self.password_keys.values(converters), part="converters")
        self._knows_worker_passwords = True

    @contextmanager
    def _scrubbing(self, scrub: Scrub, hidden: Collection[str] = ()) -> Iterator[None]:
        """Hides secrets that a plugin's errors and output may quote."""
        try:
            with self._call_secrets.during(hidden):
                yield
        except HostError as e:
            e.message, e.trace = scrub(e.message), scrub(e.trace)
            e.args = (e.message,)
            raise


def mapped(scrub: Scrub, part: Any) -> Any:
    """A JSON value with all its texts scrubbed, names of keys included."""
    match part:
        case str():
            return scrub(part)
        case list():
            return [mapped(scrub, item) for item in part]
        case dict():
            return {scrub(name): mapped(scrub, item) for name, item in part.items()}
    return part


async def has_class(host: ResolvingHost, name: str) -> bool:
    """Whether this worker has a connector class; also true while the plugin host cannot answer."""
    try:
        await host.resolve(name)
    except UnknownPluginError:
        return False
    except (HostError, ConfigError, TimeoutError):
        return True
    return True

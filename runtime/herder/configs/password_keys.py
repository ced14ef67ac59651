"""Password keys of connector configurations: defined as passwords by their plugin, or recognized by name if no
definition has them."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from runtime.api.config.definition import ConfigType
from runtime.config.providers import only_variables
from runtime.config.secret_names import HIDDEN, is_password, may_be_password
from runtime.config.secret_values import passwords
from runtime.config.url_secrets import without_url_secrets
from runtime.host.port import HostError, UnknownPluginError
from runtime.kafka.clients.definitions import client_keys

Describe = Callable[[str], Awaitable[list[dict[str, Any]]]]
"""Returns the definitions of a plugin's keys."""

CONVERTERS = ("key.converter", "value.converter", "header.converter")

_OWN_PART = re.compile(r"(?:(?:transforms|predicates)\.[^.]+|(?:key|value|header)\.converter)\.")
"""The prefix of a plugin's keys, whose alias says nothing about the key."""
_OVERRIDE = re.compile(r"(producer|consumer|admin)\.override\.")


class PasswordKeys:
    """Finds password keys; each plugin is queried once. Event loop only."""

    def __init__(self, describe: Describe) -> None:
        self._describe = describe
        self._by_class: dict[str, Mapping[str, bool]] = {}

    async def of(self, config: Mapping[str, str]) -> set[str]:
        defined: dict[str, bool] = {}
        for prefix, cls in _plugins(config):
            defined |= {prefix + key: secret for key, secret in (await self._defined(cls)).items()}
        return {key for key, value in config.items() if is_password(key) or _is_secret(key, value, defined)}

    async def values(self, config: Mapping[str, str]) -> set[str]:
        """The values of this configuration that must not be shown."""
        return {config[key] for key in await self.of(config) if config[key]} | passwords(config)

    async def masked(self, config: Mapping[str, str], connector: Mapping[str, str] | None = None) -> dict[str, str]:
        """The configuration for clients that may not read passwords; variables are shown. `connector`: the connector's
        configuration, which names the plugins of a task's configuration."""
        keys = await self.of({**(connector or {}), **config})
        return {k: _masked(v) if k in keys else v and without_url_secrets(v) for k, v in config.items()}

    async def _defined(self, cls: str) -> Mapping[str, bool]:
        """The keys that a plugin defines, and whether they are passwords; empty if that is unknown, as of a removed
        plugin."""
        if cls not in self._by_class:
            try:
                keys = await self._describe(cls)
            except UnknownPluginError:
                return {}
            except HostError as e:
                if e.temporary:
                    raise
                return {}
            self._by_class[cls] = {key["name"]: key["type"] == "PASSWORD" for key in keys}
        return self._by_class[cls]


def _masked(value: str) -> str:
    return HIDDEN if value and not only_variables(value) else value


def _is_secret(key: str, value: str, defined: Mapping[str, bool]) -> bool:
    if key in defined:
        return defined[key]
    if value.lower() in ("true", "false"):  # words that would be hidden everywhere
        return False
    if client := _OVERRIDE.match(key):
        secret = _of_client(client[1]).get(key[client.end() :])
        return may_be_password(key) if secret is None else secret
    return may_be_password(_OWN_PART.sub("", key, count=1))


@lru_cache
def _of_client(kind: str) -> Mapping[str, bool]:
    return {name: key.type is ConfigType.PASSWORD for name, key in client_keys(kind).items()}


def _plugins(config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The plugins that a configuration names, with the prefix of their keys."""
    if cls := config.get("connector.class"):
        yield "", cls
    for kind in ("transforms", "predicates"):
        for alias in config.get(kind, "").split(","):
            prefix = f"{kind}.{alias.strip()}."
            if cls := config.get(f"{prefix}type"):
                yield prefix, cls
    for key in CONVERTERS:
        if cls := config.get(key):
            yield f"{key}.", cls

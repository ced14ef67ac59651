"""Reloads plugins without a restart of the worker: connectors whose plugins have changed restart with the new code."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Protocol

from runtime.api.errors import ConfigError
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.control.connectors import Connectors
from runtime.herder.errors import NotFound
from runtime.host.port import UnknownPluginError
from runtime.model.states import TargetState
from runtime.plugins.catalog import PluginCatalog
from runtime.storage.configs import ConfigStore

_log = logging.getLogger(__name__)

Response = dict[str, Any]


class ReloadingHost(Protocol):
    """The plugin host, as far as reloads need it (EnvironmentHosts)."""

    async def reload(self, name: str | None = None) -> PluginCatalog:
        """Scan the folders again, and use the plugins found; `name` limits the plugins that are replaced."""

    async def details(self) -> list[dict[str, Any]]:
        """Every plugin with its type, version, language, origin, and classes of Apache's worker that it uses."""

    async def revision(self, config: dict[str, str]) -> str:
        """The revision of the plugins that a configuration selects. UnknownPluginError, ConfigError."""


class PluginReload:
    """Event loop only. Reloads run one after another."""

    def __init__(self, hosts: ReloadingHost, host: ResolvingHost, configs: ConfigStore, connectors: Connectors) -> None:
        self._hosts, self._host, self._configs, self._connectors = hosts, host, configs, connectors
        self._turn = asyncio.Lock()

    async def reload(self, name: str | None) -> Response:
        """Reload all plugins, or those with this class name, alias, module or environment, and restart the connectors
        of this worker that use changed code. Tasks commit their offsets before they end. A connector whose plugin is
        gone keeps running until it is restarted. NotFound if no plugin has the name."""
        async with self._turn:
            catalog = await self._hosts.reload(name)
            if name is not None and not catalog.named(name):
                raise NotFound(f"Unknown plugin {name}.")
            restarted, missing = [], []
            for connector, revision in sorted(self._connectors.revisions().items()):
                try:
                    changed = await self._revision(connector) not in (None, revision)
                except (UnknownPluginError, ConfigError) as error:
                    _log.warning("%s: not restarted by the reload, since its plugin is missing: %s", connector, error)
                    missing.append(connector)
                    continue
                if changed:
                    self._restart(connector)
                    restarted.append(connector)
        _log.info("Plugins reloaded; restarting connectors: %s", ", ".join(restarted) or "none")
        plugins = [
            {"class": p.cls, "version": p.version, "environment": p.environment}
            for p in (catalog.plugins if name is None else catalog.named(name))
        ]
        return {"plugins": plugins, "restarted": restarted, "missing": missing}

    async def details(self) -> list[dict[str, Any]]:
        """Every plugin with its type, version, language (python, java), and origin: `from` is a jar, a file or folder,
        an environment, or "bundled". `worker_classes`, if any, are those of Apache's worker that the plugin uses, with
        what it gets for them."""
        return await self._hosts.details()

    async def _revision(self, connector: str) -> str | None:
        stored = self._configs.connector(connector)
        return None if stored is None else await self._hosts.revision(await self._host.selecting(stored.config))

    def _restart(self, connector: str) -> None:
        stored = self._configs.connector(connector)
        if stored is None:
            return
        tasks = set(range(len(stored.tasks)))
        if stored.target is TargetState.STARTED:
            self._connectors.mark_and_restart(connector, True, tasks)
        else:
            self._connectors.restart(connector, True, tasks)

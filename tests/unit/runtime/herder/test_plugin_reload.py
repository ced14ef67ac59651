"""Which connectors restart after a reload of plugins."""

from __future__ import annotations

from typing import cast

import pytest

from runtime.api.errors import ConfigError
from runtime.herder.configs.resolving_host import ResolvingHost
from runtime.herder.control.connectors import Connectors
from runtime.herder.errors import NotFound
from runtime.herder.plugin_reload import PluginReload
from runtime.host.port import UnknownPluginError
from runtime.model.states import TargetState
from runtime.plugins.catalog import PluginCatalog
from runtime.plugins.plugin import Plugin, PluginType
from runtime.storage.configs import ConfigStore, StoredConnector

ORDERS = Plugin("hr.Orders", "hr:Orders", (PluginType.SOURCE,), "2.0")


class Hosts:
    """A catalog of one plugin; each config names its revision."""

    async def details(self) -> list[dict[str, str]]:
        return []

    async def reload(self, name: str | None = None) -> PluginCatalog:
        return PluginCatalog((ORDERS,))

    async def revision(self, config: dict[str, str]) -> str:
        match config["connector.class"]:
            case "gone":
                raise UnknownPluginError("unknown")
            case "split":
                raise ConfigError("two environments")
            case revision:
                return revision

    async def selecting(self, config: dict[str, str]) -> dict[str, str]:
        return config


class Running:
    """The connectors of a worker, all with the revision `old`, and the restarts."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.restarted: list[tuple[str, bool, set[int]]] = []
        self.marked: list[str] = []

    def revisions(self) -> dict[str, str]:
        return dict.fromkeys(self.names, "old")

    def restart(self, name: str, connector: bool, tasks: set[int]) -> None:
        self.restarted.append((name, connector, tasks))

    def mark_and_restart(self, name: str, connector: bool, tasks: set[int]) -> None:
        self.marked.append(name)
        self.restart(name, connector, tasks)


class Stored:
    """Configs by name: class, target state, and two tasks."""

    def __init__(self, connectors: dict[str, tuple[str, TargetState]]) -> None:
        self._connectors = connectors

    def connector(self, name: str) -> StoredConnector | None:
        if name not in self._connectors:
            return None
        cls, target = self._connectors[name]
        return StoredConnector(name, {"connector.class": cls}, target, ({}, {}))


def _reload(connectors: dict[str, tuple[str, TargetState]], *more: str) -> tuple[PluginReload, Running]:
    running, hosts = Running([*connectors, *more]), Hosts()
    stored = cast(ConfigStore, Stored(connectors))
    return PluginReload(hosts, cast(ResolvingHost, hosts), stored, cast(Connectors, running)), running


async def test_connectors_with_changed_plugins_restart_with_their_tasks() -> None:
    connectors = {
        "changed": ("new", TargetState.STARTED),
        "paused": ("new", TargetState.PAUSED),
        "same": ("old", TargetState.STARTED),
        "without": ("gone", TargetState.STARTED),
        "mixed": ("split", TargetState.STARTED),
    }
    reload, running = _reload(connectors, "deleted")
    answer = await reload.reload(None)
    assert answer == {
        "plugins": [{"class": "hr.Orders", "version": "2.0", "environment": ""}],
        "restarted": ["changed", "paused"],
        "missing": ["mixed", "without"],
    }
    assert running.restarted == [("changed", True, {0, 1}), ("paused", True, {0, 1})]
    assert running.marked == ["changed"]


async def test_an_unknown_name_is_refused() -> None:
    reload, running = _reload({"changed": ("new", TargetState.STARTED)})
    with pytest.raises(NotFound, match="Unknown plugin Nowhere"):
        await reload.reload("Nowhere")
    assert running.restarted == []
    assert (await reload.reload("Orders"))["restarted"] == ["changed"]

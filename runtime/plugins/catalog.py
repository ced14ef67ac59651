"""The plugins of a worker and their environments, as found in `plugin.path` and installed distributions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from runtime.model.environment import Environment
from runtime.plugins.plugin import Plugin, PluginType


@dataclass(frozen=True, slots=True)
class PluginCatalog:
    """The plugins that are not bundled, in the order in which they were found, and environments by id. `modules`: those
    in which functions of users may be."""

    plugins: tuple[Plugin, ...] = ()
    environments: Mapping[str, Environment] = field(default_factory=dict)
    modules: tuple[Plugin, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As JSON, for another process."""
        return {
            "plugins": [asdict(plugin) for plugin in self.plugins],
            "environments": [asdict(environment) for environment in self.environments.values()],
            "modules": [asdict(module) for module in self.modules],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PluginCatalog:
        """The reverse of to_json()."""
        environments = [parsed for e in data["environments"] if (parsed := Environment.from_json(e)) is not None]
        return cls(
            tuple(map(_plugin, data["plugins"])),
            {environment.id: environment for environment in environments},
            tuple(map(_plugin, data.get("modules", ()))),
        )

    def named(self, name: str) -> list[Plugin]:
        """The plugins with this class name, alias, module, environment or location of jars (with or without its
        version), and the module of this name."""
        return [plugin for plugin in (*self.plugins, *self.modules) if _is_named(plugin, name)]

    def reloaded(self, scanned: PluginCatalog, number: int, name: str | None = None) -> PluginCatalog:
        """This catalog with what a later scan found. `name` limits the plugins that are replaced, as
        named(). Plugins with changed code bear the number of the reload."""

        def concerned(plugin: Plugin) -> bool:
            return name is None or _is_named(plugin, name)

        own = (*self.plugins, *self.modules)
        known = {(p.cls, p.version, p.environment): p for p in own}
        packages = {p.package for p in own if not p.environment}

        def after(before: tuple[Plugin, ...], now: tuple[Plugin, ...]) -> tuple[Plugin, ...]:
            taken = [_numbered(p, known, packages, number) for p in now if concerned(p)]
            return (*(p for p in before if not concerned(p)), *taken)

        plugins, modules = after(self.plugins, scanned.plugins), after(self.modules, scanned.modules)
        used = {p.environment for p in (*plugins, *modules)}
        environments = {**self.environments, **scanned.environments}
        return PluginCatalog(plugins, {key: value for key, value in environments.items() if key in used}, modules)


def _plugin(data: Mapping[str, Any]) -> Plugin:
    return Plugin(**{
        **data, "kinds": tuple(map(PluginType, data["kinds"])), "worker_classes": tuple(data.get("worker_classes", ())),
    })  # fmt: skip


def _numbered(plugin: Plugin, known: Mapping[tuple[str, str, str], Plugin], packages: set[str], number: int) -> Plugin:
    if plugin.environment:
        return plugin  # its id changes with the code
    before = known.get((plugin.cls, plugin.version, ""))
    if before is not None and before.revision == plugin.revision:
        return replace(plugin, reloaded=before.reloaded)
    return replace(plugin, reloaded=number) if plugin.package in packages else plugin


def _is_named(plugin: Plugin, name: str) -> bool:
    return name in {plugin.cls, plugin.package, *plugin.aliases, *_names(plugin.environment), *_locations(plugin)}


def _locations(plugin: Plugin) -> Sequence[str]:
    """The names of a Java plugin's location in requests: its folder, with or without the version, or its jar."""
    if plugin.language != "java":
        return ()
    name = Path(plugin.package).name
    return name, re.split(r"-\d", name, maxsplit=1)[0]


def _names(environment: str) -> Sequence[str]:
    """The names of an environment in requests: its folder, and the folder without the version."""
    folder = environment.rpartition("-")[0]
    return (folder, folder.rpartition("-")[0]) if folder else ()

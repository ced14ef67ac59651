"""The description of a Java plugin, and its types."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

UNDEFINED = "undefined"
"""The version of a plugin that states none, as in Connect."""


class JavaPluginType(StrEnum):
    """The type of a Java plugin, in the order in which Connect lists them."""

    SINK = "sink"
    SOURCE = "source"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"
    CONFIG_PROVIDER = "configprovider"
    REST_EXTENSION = "rest_extension"
    OVERRIDE_POLICY = "connector_client_config_override_policy"


@dataclass(frozen=True, slots=True)
class JavaPlugin:
    """A plugin class. `location` is the folder or jar in `plugin.path` that isolates it, `jar` the file of its class.

    `version` is None if only the class itself knows it. `version_is_certain` is False if the version comes from the
    manifest of the jar, while the class may compute another. `service_types` are the types for which the class has an
    entry in META-INF/services; `worker_classes` are those of Apache's worker that the plugin uses.
    """

    cls: str
    types: tuple[JavaPluginType, ...]
    version: str | None
    version_is_certain: bool
    location: Path
    jar: Path
    service_types: tuple[JavaPluginType, ...]
    worker_classes: tuple[str, ...] = ()

    def as_declared(self) -> JavaPlugin | None:
        """The plugin with the types that its service entries declare; None if it has no entry."""
        return replace(self, types=self.service_types) if self.service_types else None

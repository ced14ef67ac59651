"""Settings that the plugin host receives when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.model.environment import Environment

_K = "org.apache.kafka.connect."


@dataclass(frozen=True, slots=True)
class HostSettings:
    """The parts of the worker's configuration that plugins and their validation depend on, and the environment whose
    plugins the host runs. Without a `catalog` (PluginCatalog.to_json()) the host searches the plugins itself."""

    plugin_path: tuple[str, ...] = ()
    key_converter: str = f"{_K}json.JsonConverter"
    value_converter: str = f"{_K}json.JsonConverter"
    header_converter: str = f"{_K}storage.SimpleHeaderConverter"
    exactly_once: bool = False
    environment: Environment | None = None
    catalog: Mapping[str, Any] | None = None
    converter_versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of the worker's converters by key, such as `key.converter.plugin.version`."""

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> HostSettings:
        """The reverse of dataclasses.asdict()."""
        return cls(**{**data, "environment": Environment.from_json(data["environment"])})

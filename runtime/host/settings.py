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
    file_paths: tuple[str, ...] = ()
    """`headrace.file.paths`; empty: no limit."""
    key_converter: str = f"{_K}json.JsonConverter"
    value_converter: str = f"{_K}json.JsonConverter"
    header_converter: str = f"{_K}storage.SimpleHeaderConverter"
    exactly_once: bool = False
    environment: Environment | None = None
    catalog: Mapping[str, Any] | None = None
    converter_versions: Mapping[str, str] = field(default_factory=dict)
    """Versions of the worker's converters by key, such as `key.converter.plugin.version`."""
    plugin_discovery: str = "hybrid_warn"
    java_prefer: tuple[str, ...] = ()
    """Java classes that are preferred over bundled plugins (JavaDiscovery.prefer)."""
    java_heap: int = 256
    """The largest heap of the JVM, in MB."""
    java_options: tuple[str, ...] = ()
    """Further options of the JVM."""
    levels: Mapping[str, str] = field(default_factory=dict)
    """Levels of loggers that were set at run time."""
    call_timeout: float = 30.0
    """Seconds after which the worker stops waiting for most calls."""

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> HostSettings:
        """The reverse of dataclasses.asdict()."""
        data["java_prefer"] = tuple(data.get("java_prefer", ()))
        return cls(**{**data, "environment": Environment.from_json(data["environment"])})

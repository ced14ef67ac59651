"""Settings that the plugin host receives when it starts."""

from __future__ import annotations

from dataclasses import dataclass

_K = "org.apache.kafka.connect."


@dataclass(frozen=True, slots=True)
class HostSettings:
    """The parts of the worker's configuration that plugins and their validation depend on."""

    plugin_path: tuple[str, ...] = ()
    key_converter: str = f"{_K}json.JsonConverter"
    value_converter: str = f"{_K}json.JsonConverter"
    header_converter: str = f"{_K}storage.SimpleHeaderConverter"
    exactly_once: bool = False

"""Definitions and values of configuration keys as JSON of the REST API, with Connect's order of fields."""

from __future__ import annotations

from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigValue
from runtime.api.config.types import to_text
from runtime.definitions.common import common_keys
from runtime.definitions.sink import SINK_KEYS
from runtime.definitions.source import SOURCE_KEYS
from runtime.plugins.plugin import Plugin, PluginType


def describe(plugin: Plugin, cls: type) -> list[dict[str, Any]]:
    """The plugin's own keys, followed by the common keys if it is a connector, which may define them itself."""
    own: ConfigDef = getattr(cls, "config_def", None) or ConfigDef()
    common: list[ConfigKey] = []
    if PluginType.SOURCE in plugin.kinds:
        common = [*common_keys(plugin.version), *SOURCE_KEYS]
    elif PluginType.SINK in plugin.kinds:
        common = [*common_keys(plugin.version), *SINK_KEYS]
    return [definition(key) for key in (*own, *(key for key in common if key.name not in own))]


def definition(key: ConfigKey, prefix: str = "", group: str | None = None) -> dict[str, Any]:
    """The definition of a key; `prefix` is prepended to its name, `group` is the default group."""
    return {
        "name": prefix + key.name,
        "type": key.type.value,
        "required": key.required,
        "default_value": to_text(key.typed_default()),
        "importance": key.importance.value,
        "documentation": key.doc,
        "group": group if key.group is None else key.group,
        "order_in_group": key.order_in_group,
        "width": key.width.value,
        "display_name": key.shown_name,
        "dependents": [prefix + d for d in key.dependents],
    }


def value(config_value: ConfigValue, prefix: str = "") -> dict[str, Any]:
    """The value of a key with its errors."""
    return {
        "name": prefix + config_value.name,
        "value": to_text(config_value.value),
        "recommended_values": [to_text(v) for v in config_value.recommended_values],
        "errors": list(config_value.errors),
        "visible": config_value.visible,
    }

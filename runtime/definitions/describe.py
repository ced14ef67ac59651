"""The response of GET /connector-plugins/{plugin}/config."""

from __future__ import annotations

from typing import Any

from runtime.api.config.definition import ConfigDef
from runtime.definitions.common import common_keys
from runtime.definitions.render import definition
from runtime.definitions.sink import SINK_KEYS
from runtime.definitions.source import SOURCE_KEYS
from runtime.plugins.plugin import Plugin, PluginType


def describe(plugin: Plugin, cls: type) -> list[dict[str, Any]]:
    """The plugin's own keys, followed by the common keys if it is a connector."""
    own: ConfigDef = getattr(cls, "config_def", None) or ConfigDef()
    keys = list(own)
    if PluginType.SOURCE in plugin.kinds:
        keys += [*common_keys(plugin.version), *SOURCE_KEYS]
    elif PluginType.SINK in plugin.kinds:
        keys += [*common_keys(plugin.version), *SINK_KEYS]
    return [definition(key) for key in keys]

"""The response of GET /connector-plugins/{plugin}/config."""

from __future__ import annotations

from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigKey
from runtime.definitions.common import common_keys
from runtime.definitions.render import definition
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

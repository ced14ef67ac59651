"""Code of converters, transformations and predicates that may fail while a configuration is validated."""

from __future__ import annotations

from typing import Any

from runtime.api.config.definition import ConfigDef
from runtime.api.errors import ConfigError
from runtime.definitions.findings import Findings
from runtime.java.errors import HostLostError
from runtime.plugins.registry import Plugin, PluginRegistry, PluginType
from runtime.transforms.python_udf.reference import FunctionReference

_NOT_OF_THE_PLUGIN = (HostLostError, TimeoutError)  # the same validation may succeed later


def creation_problem(plugin: Plugin, kind: PluginType, registry: PluginRegistry, findings: Findings) -> str:
    """The reason why no instance of a plugin can be created, as a sentence after a blank; empty if there is none, or if
    no code may run. For Apache's worker such a class does not exist."""
    if findings.text_only:
        return ""
    try:
        made: Any = registry.load_class(plugin, kind)()
    except _NOT_OF_THE_PLUGIN:
        raise
    except Exception as error:
        return f" It cannot be created: {_text(error)}"
    if plugin.language == "java":
        made.plugin.close()
    return ""


def own_keys(
    key: str, label: str, plugin: Plugin, kind: PluginType, registry: PluginRegistry, findings: Findings
) -> ConfigDef | None:
    """The keys that a plugin defines; None after an error of its code, which is added to `key`."""
    try:
        return findings.keys_of(registry.load_class(plugin, kind))
    except _NOT_OF_THE_PLUGIN:
        raise
    except Exception as error:
        findings.error(key, f"{label}: {_text(error)}")
        return None


def load_problem(reference: FunctionReference, batch: str) -> str:
    """The reason why a function of a user cannot be loaded, or does not take such a batch; empty if there is
    none."""
    from runtime.transforms.python_udf.function import check_function

    try:
        check_function(reference, batch.lower())
    except ConfigError as error:
        return str(error)
    return ""


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__

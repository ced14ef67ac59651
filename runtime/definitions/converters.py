"""Validation of the converters in a connector's configuration, including their own keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.config.definition import ConfigDef
from runtime.api.config.types import invalid, java_trim
from runtime.definitions.common import ConverterKey
from runtime.definitions.findings import Findings
from runtime.definitions.messages import NON_PLUGIN_CLASSES, java_hint, not_an_interface
from runtime.kafka.formats import java_ordered
from runtime.plugins.registry import Plugin, PluginRegistry, PluginType
from runtime.plugins.versions import mismatch


@dataclass(frozen=True, slots=True)
class FixedRecommender:
    """A recommender of fixed values."""

    values: tuple[str, ...] = ()
    shown: bool = True

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return list(self.values)

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return self.shown


@dataclass(frozen=True, slots=True)
class Choice:
    """The converter that a configuration selects; `plugin` is None if it does not exist."""

    which: str  # key, value or header
    given: bool
    text: str | None
    plugin: Plugin | None
    default: str
    default_version: str | None
    candidates: tuple[str, ...]
    default_versions: tuple[str, ...]
    versions: tuple[str, ...]

    @property
    def kind(self) -> PluginType:
        """The required type of the plugin."""
        return PluginType.HEADER_CONVERTER if self.which == "header" else PluginType.CONVERTER

    @property
    def usable(self) -> bool:
        """Whether the plugin exists and has the required type."""
        return self.plugin is not None and self.kind in self.plugin.kinds

    def key(self) -> ConverterKey:
        """Defaults and recommenders of the converter's keys."""
        version = self.plugin.version if self.plugin is not None and self.usable else None
        versions = self.versions if version is not None else ()
        if self.text is None:
            version, versions = self.default_version, self.default_versions
        recommended = FixedRecommender(versions, shown=self.plugin is not None)
        return ConverterKey(self.default, version, FixedRecommender(self.candidates), recommended)


def choose(which: str, config: Mapping[str, str | None], default: str, registry: PluginRegistry) -> Choice:
    """The converter for `which` ("key", "value" or "header"); `default` is the worker's."""
    name = f"{which}.converter"
    given = name in config
    text = config[name] if given else default
    kind = PluginType.HEADER_CONVERTER if which == "header" else PluginType.CONVERTER
    wanted = config.get(f"{name}.plugin.version")
    worker = registry.find(default)
    plugin = registry.find(java_trim(text), wanted=wanted) if text is not None else None
    return Choice(
        which,
        given,
        text,
        plugin,
        worker.cls if worker is not None else default,
        worker.version if worker is not None else None,
        tuple(p.cls for p in registry.of_kind(kind)),
        tuple(registry.versions(worker.cls)) if worker is not None else (),
        tuple(registry.versions(plugin.cls)) if plugin is not None else (),
    )


def check(choice: Choice, config: Mapping[str, str | None], registry: PluginRegistry, findings: Findings) -> None:
    """Adds the converter's errors, and its own keys if the connector's configuration specifies it."""
    name = f"{choice.which}.converter"
    value, plugin = findings.values[name], choice.plugin
    if name not in findings.own:
        value.value = plugin.cls if plugin is not None else None
    if choice.text is None:
        return  # every null is an error already
    if plugin is None and java_trim(choice.text) in NON_PLUGIN_CLASSES:
        value.value = java_trim(choice.text)
        findings.error(name, not_an_interface(value.value, choice.kind))
    elif plugin is None:
        hint = java_hint(choice.text) or registry.elsewhere(java_trim(choice.text))
        reason = f"Class {choice.text} could not be found.{hint}"
        findings.error(name, str(invalid(name, choice.text, reason)))
    elif not choice.usable:
        findings.error(name, not_an_interface(plugin.cls, choice.kind))
    elif choice.given and not _wrong_version(name, plugin, config, registry, findings):
        _check_keys(choice, plugin, config, registry, findings)


def _wrong_version(
    name: str, plugin: Plugin, config: Mapping[str, str | None], registry: PluginRegistry, findings: Findings
) -> bool:
    wanted = config.get(f"{name}.plugin.version")
    message = mismatch(plugin.cls, wanted, registry.versions(plugin.cls)) if wanted is not None else None
    if message is not None:
        findings.error(name, message)
        findings.error(f"{name}.plugin.version", message)
    return message is not None


def _check_keys(
    choice: Choice, plugin: Plugin, config: Mapping[str, str | None], registry: PluginRegistry, findings: Findings
) -> None:
    prefix = f"{choice.which}.converter."
    own = {k[len(prefix) :]: v for k, v in config.items() if k.startswith(prefix) and v is not None}
    definition: ConfigDef = getattr(registry.load_class(plugin), "config_def", None) or ConfigDef()
    in_order = ConfigDef(*java_ordered(definition.keys).values())
    findings.check(in_order, {"converter.type": choice.which, **own}, prefix)

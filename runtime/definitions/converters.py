"""Validation of the converters in a connector's configuration, including their own keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.config.definition import ConfigDef
from runtime.api.config.types import invalid, java_trim
from runtime.definitions.common import ConverterKey
from runtime.definitions.findings import Findings
from runtime.definitions.messages import (
    ABSTRACT_CLASS,
    ABSTRACT_CONVERTERS,
    NON_PLUGIN_CLASSES,
    not_an_interface,
    unknown_class_hint,
)
from runtime.definitions.plugin_code import creation_problem, own_keys
from runtime.kafka.formats import java_ordered
from runtime.plugins.registry import Plugin, PluginRegistry, PluginType
from runtime.plugins.versions import invalid_range, mismatch

_JAVA_CLASSES = NON_PLUGIN_CLASSES | {cls for classes in ABSTRACT_CONVERTERS.values() for cls in classes}


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
    versions: tuple[str, ...]

    @property
    def kind(self) -> PluginType:
        """The required type of the plugin."""
        return PluginType.HEADER_CONVERTER if self.which == "header" else PluginType.CONVERTER

    @property
    def exists(self) -> bool:
        """Whether a Java worker has a class of this name."""
        return self.plugin is not None or (self.text is not None and java_trim(self.text) in _JAVA_CLASSES)

    @property
    def usable(self) -> bool:
        """Whether the plugin exists and has the required type."""
        return self.plugin is not None and self.kind in self.plugin.kinds

    def key(self) -> ConverterKey:
        """Defaults and recommenders of the converter's keys."""
        version = self.plugin.version if self.plugin is not None and self.usable else None
        versions = self.versions if version is not None else ()
        if self.text is None:
            version = self.default_version
        recommended = FixedRecommender(versions, shown=self.exists)
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
        registry.recommended(kind),
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
    if plugin is None and choice.exists:
        cls = value.value = java_trim(choice.text)
        is_abstract = cls in ABSTRACT_CONVERTERS[choice.kind]
        findings.error(name, ABSTRACT_CLASS if is_abstract else not_an_interface(cls, choice.kind))
    elif plugin is None:
        hint = unknown_class_hint(java_trim(choice.text), choice.kind, registry)
        _add_unknown(name, choice.text, hint, findings)
    elif not choice.usable:
        findings.error(name, not_an_interface(plugin.cls, choice.kind))
    elif not _wrong_version(choice, plugin, config, registry, findings) and choice.given:
        if problem := creation_problem(plugin, choice.kind, registry, findings):
            value.value = None
            _add_unknown(name, choice.text, problem, findings)
        else:
            _check_keys(choice, plugin, config, registry, findings)


def _add_unknown(name: str, text: str, hint: str, findings: Findings) -> None:
    findings.error(name, str(invalid(name, text, f"Class {text} could not be found.{hint}")))


def _wrong_version(
    choice: Choice, plugin: Plugin, config: Mapping[str, str | None], registry: PluginRegistry, findings: Findings
) -> bool:
    """The version of a converter that the configuration does not name is only parsed, as in Connect."""
    name = f"{choice.which}.converter"
    wanted = config.get(f"{name}.plugin.version")
    if wanted is None:
        return False
    problem = invalid_range(wanted)
    message = mismatch(plugin.cls, wanted, registry.versions(plugin.cls)) if choice.given else problem
    if message is not None:
        findings.error(f"{name}.plugin.version", message)
        if problem is None:
            findings.error(name, message)
    return message is not None


def _check_keys(
    choice: Choice, plugin: Plugin, config: Mapping[str, str | None], registry: PluginRegistry, findings: Findings
) -> None:
    prefix = f"{choice.which}.converter."
    own = {k[len(prefix) :]: v for k, v in config.items() if k.startswith(prefix) and v is not None}
    failure = f"Failed to load ConfigDef from {choice.which} converter"
    keys = own_keys(prefix[:-1], failure, plugin, choice.kind, registry, findings)
    if keys is not None:
        in_order = ConfigDef(*java_ordered(keys.keys).values())
        findings.check(in_order, {"converter.type": choice.which, **own}, prefix)

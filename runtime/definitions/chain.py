"""Validation of the transformations and predicates in a connector's configuration, including their own keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance, Recommender, Width
from runtime.api.config.types import invalid, java_trim
from runtime.definitions.converters import FixedRecommender
from runtime.definitions.findings import Findings
from runtime.definitions.messages import ABSTRACT_CLASS, NON_PLUGIN_CLASSES, not_an_interface, unknown_class_hint
from runtime.definitions.plugin_code import creation_problem, load_problem, own_keys
from runtime.plugins.functions import function_problem
from runtime.plugins.registry import Plugin, PluginRegistry, PluginType
from runtime.plugins.versions import mismatch
from runtime.transforms.bundled import ABSTRACT
from runtime.transforms.python_udf.reference import FUNCTION, PYTHON_UDF, FunctionReference

Config = Mapping[str, str | None]

_IMPORTANCE = list(Importance)
_CONDITION = (
    ConfigKey(
        "predicate", ConfigType.STRING, None, Importance.MEDIUM,
        "Alias of the predicate that selects the records to transform; all records if not set.",
    ),
    ConfigKey(
        "negate", ConfigType.BOOLEAN, False, Importance.MEDIUM,
        "Whether to transform the records that do not match the predicate, instead of those that do.",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Part:
    """One of the two lists of plugins: its key, and the type and extra keys of its plugins."""

    name: str
    label: str
    kind: PluginType
    more: tuple[ConfigKey, ...] = ()


_PARTS = (
    _Part("transforms", "Transformation", PluginType.TRANSFORMATION, _CONDITION),
    _Part("predicates", "Predicate", PluginType.PREDICATE),
)


def check_chain(config: Config, registry: PluginRegistry, findings: Findings) -> None:
    """Adds the keys of every alias with their errors. References to predicates are checked when the task starts."""
    for part in _PARTS:
        for alias in dict.fromkeys(findings.values[part.name].value or []):
            _check(part, alias, config, registry, findings)


def _check(part: _Part, alias: str, config: Config, registry: PluginRegistry, findings: Findings) -> None:
    prefix = f"{part.name}.{alias}"
    group = f"{part.name.capitalize()}: {alias}"
    text = config.get(f"{prefix}.type")
    wanted = config.get(f"{prefix}.plugin.version")
    registered = registry.find(java_trim(text), wanted=wanted) if text is not None else None
    plugin = registered if registered is not None and part.kind in registered.kinds else None
    problem = creation_problem(plugin, part.kind, registry, findings) if plugin is not None else ""
    if problem:
        plugin = registered = None
    findings.check(_keys(part, alias, group, registry, plugin), config)
    value = findings.values[f"{prefix}.type"]
    if registered is not None:
        value.value = registered.cls
    if text is not None and plugin is None:
        _refuse(f"{prefix}.type", text, registered, problem, part, registry, findings)
    if part.more and f"{prefix}.negate" in config and f"{prefix}.predicate" not in config:
        findings.error(
            f"{prefix}.type",
            f"Config '{prefix}.negate' was provided but there is no config '{prefix}.predicate' defining a predicate "
            "to be negated.",
        )
    if plugin is None or _wrong_version(prefix, plugin, config, registry, findings):
        return
    failure = f"Error getting config definition from {part.label}"
    own = own_keys(f"{prefix}.type", failure, plugin, part.kind, registry, findings)
    if own is not None:
        findings.check(_own_keys(f"{prefix}.", group, [*own, *part.more]), config)
    if plugin.cls == PYTHON_UDF:
        _check_function(prefix, config, registry, findings)


def _check_function(prefix: str, config: Config, registry: PluginRegistry, findings: Findings) -> None:
    """Adds an error if there is no such function. Its module is imported only if code of plugins may run."""
    name = f"{prefix}.{FUNCTION}"
    text = config.get(name) or ""
    problem = function_problem(text, registry)
    reference = FunctionReference.of(text)
    if not problem and reference is not None and not findings.text_only:
        problem = load_problem(reference, findings.valid_value(f"{prefix}.batch") or "")
    if problem:
        findings.error(name, str(invalid(name, text, problem)))


def _keys(part: _Part, alias: str, group: str, registry: PluginRegistry, plugin: Plugin | None) -> ConfigDef:
    prefix, lower = f"{part.name}.{alias}", part.label.lower()
    classes = FixedRecommender(registry.recommended(part.kind))
    version = plugin.version if plugin is not None else None
    return ConfigDef(
        ConfigKey(
            f"{prefix}.type", ConfigType.CLASS, doc=f"Class of the {lower} {alias}.", group=group, order_in_group=0,
            width=Width.LONG, display_name=f"{part.label} type for {alias}", recommender=classes,
        ),
        ConfigKey(
            f"{prefix}.plugin.version", ConfigType.STRING, version, doc=f"Accepted versions of the {lower} {alias}.",
            group=group, order_in_group=1, width=Width.LONG, display_name=f"{part.label} version for {alias}",
            recommender=FixedRecommender(tuple(registry.versions(plugin.cls)) if plugin is not None else ()),
        ),
    )  # fmt: skip


def _own_keys(prefix: str, group: str, keys: list[ConfigKey]) -> ConfigDef:
    """The plugin's keys as keys of the connector: by group, without group first, and by order in the group; then
    required ones first, then by importance, then by name."""
    groups = [None, *dict.fromkeys(key.group for key in keys if key.group is not None)]
    keys.sort(
        key=lambda key: (
            groups.index(key.group),
            key.order_in_group,
            not key.required,
            _IMPORTANCE.index(key.importance),
            key.name,
        )
    )
    return ConfigDef(*(_own_key(prefix, group, order, key) for order, key in enumerate(keys, 2)))


def _own_key(prefix: str, group: str, order: int, key: ConfigKey) -> ConfigKey:
    def validator(name: str, value: Any) -> None:
        if key.validator is not None:
            key.validator(key.name, value)

    return replace(
        key,
        name=prefix + key.name,
        validator=validator,
        recommender=None if key.recommender is None else _Unprefixed(prefix, key.recommender),
        group=group if key.group is None else f"{group}: {key.group}",
        order_in_group=order,
        display_name=key.shown_name,
    )


@dataclass(frozen=True, slots=True)
class _Unprefixed:
    """The recommender of a plugin's key, which knows the plugin's keys without the prefix."""

    prefix: str
    recommender: Recommender

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return self.recommender.valid_values(name.removeprefix(self.prefix), self._own(parsed))

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return self.recommender.visible(name.removeprefix(self.prefix), self._own(parsed))

    def _own(self, parsed: Mapping[str, Any]) -> dict[str, Any]:
        return {name.removeprefix(self.prefix): value for name, value in parsed.items()}


def _refuse(
    name: str, text: str, registered: Plugin | None, problem: str, part: _Part, registry: PluginRegistry,
    findings: Findings,
) -> None:  # fmt: skip
    """Adds the error for a class that is unknown, abstract, or not a plugin of this type. `problem`: as of
    creation_problem()."""
    trimmed = java_trim(text)
    if trimmed in ABSTRACT and part.kind is PluginType.TRANSFORMATION:
        findings.values[name].value = trimmed
        meant = ", ".join(ABSTRACT[trimmed])
        findings.error(name, f"{ABSTRACT_CLASS} Did you mean {meant}?")
    elif trimmed in NON_PLUGIN_CLASSES:
        findings.values[name].value = trimmed
        findings.error(name, not_an_interface(trimmed, part.kind))
    elif registered is not None:
        findings.error(name, not_an_interface(registered.cls, part.kind))
    else:
        findings.values[name].value = None
        hint = problem or unknown_class_hint(trimmed, part.kind, registry)
        findings.error(name, str(invalid(name, text, f"Class {text} could not be found.{hint}")))


def _wrong_version(prefix: str, plugin: Plugin, config: Config, registry: PluginRegistry, findings: Findings) -> bool:
    wanted = config.get(f"{prefix}.plugin.version")
    message = mismatch(plugin.cls, wanted, registry.versions(plugin.cls)) if wanted is not None else None
    if message is not None:
        findings.error(f"{prefix}.type", message)
        findings.error(f"{prefix}.plugin.version", message)
    return message is not None

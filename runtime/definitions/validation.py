"""Validation of connector configurations for PUT /connector-plugins/{plugin}/config/validate."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.config.definition import ConfigDef, ConfigValue
from runtime.api.connector import Connector, ExactlyOnceSupport, SourceConnector
from runtime.definitions import converters
from runtime.definitions.chain import check_chain
from runtime.definitions.common import ConverterKey, common_keys
from runtime.definitions.findings import Findings
from runtime.definitions.sink import SINK_KEYS, check_topics
from runtime.definitions.source import SOURCE_KEYS
from runtime.definitions.text_only import unchecked, variables_of
from runtime.java.discovery.worker_classes import refusal, refused
from runtime.java.plugins.recognition import is_java_connector
from runtime.plugins.registry import Plugin, PluginRegistry
from runtime.plugins.versions import mismatch

Config = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class WorkerDefaults:
    """Settings of the worker that affect the validation of connectors."""

    key_converter: str
    value_converter: str
    header_converter: str
    exactly_once: bool = False


def validate(
    config: Config, plugin: Plugin, connector: Connector, registry: PluginRegistry, defaults: WorkerDefaults
) -> dict[str, Any]:
    """The REST API's response for a configuration whose `connector.class` is known; starts nothing. If the plugin does
    not exist in the wanted version, only the keys of all connectors are checked, as in Connect."""
    chosen = _converters(config, registry, defaults)
    if (message := _wrong_version(config, plugin, registry)) is not None:
        return _of_wrong_version(config, plugin, registry, chosen, message)
    findings = Findings()
    findings.check(_framework_keys(plugin, type(connector), chosen, registry), config)
    check_chain(config, registry, findings)
    given = {key: value for key, value in config.items() if value is not None}
    if isinstance(connector, SourceConnector):
        _check_exactly_once(connector, given, defaults.exactly_once, findings)
    else:
        check_topics(findings.values, given)
    _check_nulls(config, connector, findings)
    findings.add_own(connector.config_def, _own_values(connector, config, given))
    _check_worker_classes(plugin, findings)
    for choice in (chosen[2], *chosen[:2]):  # headers first, as in Connect
        converters.check(choice, config, registry, findings)
    return findings.response(config["connector.class"] or "")


def validate_text(
    config: Config, plugin: Plugin, cls: type[Connector], registry: PluginRegistry, defaults: WorkerDefaults
) -> dict[str, Any]:
    """As validate(), without running code of plugins and without the values of variables. `unchecked` in the response
    tells what was left out."""
    variables = variables_of(config)
    known = {key: value for key, value in config.items() if key not in variables}
    chosen = _converters(known, registry, defaults)
    if (message := _wrong_version(known, plugin, registry)) is not None:
        return {**_of_wrong_version(known, plugin, registry, chosen, message), "unchecked": unchecked(variables)}
    findings = Findings(text_only=True)
    findings.check(_framework_keys(plugin, cls, chosen, registry), known)
    check_chain(known, registry, findings)
    if not issubclass(cls, SourceConnector) and not variables:
        check_topics(findings.values, {key: value for key, value in known.items() if value is not None})
    definition = findings.keys_of(cls)
    findings.add_null_errors([name for name, value in known.items() if value is None and name not in definition])
    findings.add_own(definition, definition.validate(known))
    _check_worker_classes(plugin, findings)
    for choice in (chosen[2], *chosen[:2]):
        converters.check(choice, known, registry, findings)
    findings.leave_unchecked({key: config[key] for key in variables})
    return {**findings.response(config["connector.class"] or ""), "unchecked": unchecked(variables)}


def _converters(config: Config, registry: PluginRegistry, defaults: WorkerDefaults) -> list[converters.Choice]:
    return [
        converters.choose(which, config, default, registry)
        for which, default in (
            ("key", defaults.key_converter),
            ("value", defaults.value_converter),
            ("header", defaults.header_converter),
        )
    ]


def _framework_keys(
    plugin: Plugin, connector: type[Connector], chosen: list[converters.Choice], registry: PluginRegistry
) -> ConfigDef:
    converter_keys = {choice.which: choice.key() for choice in chosen}
    common = common_keys(plugin.version, _recommended_versions(plugin, registry), converter_keys)
    return ConfigDef(*common, *(SOURCE_KEYS if issubclass(connector, SourceConnector) else SINK_KEYS))


def _recommended_versions(plugin: Plugin, registry: PluginRegistry) -> converters.FixedRecommender:
    return converters.FixedRecommender(tuple(registry.versions(plugin.cls)))


def _own_values(connector: Connector, config: Config, given: Mapping[str, str]) -> list[ConfigValue]:
    """Values and errors of the connector's own keys. A null key is validated without value and default. Java connectors
    see it, Python connectors do not."""
    if is_java_connector(connector):
        return connector.validate(config)
    values = connector.validate(given)
    nulls = {name: None for name, value in config.items() if value is None and name in connector.config_def}
    if not nulls:
        return values
    missing = {v.name: v for v in connector.config_def.validate({**given, **nulls}) if v.name in nulls}
    return [missing.get(v.name, v) for v in values]


def _check_nulls(config: Config, connector: Connector, findings: Findings) -> None:
    """A null is an error, except for a connector's own key."""
    findings.add_null_errors(
        [name for name, value in config.items() if value is None and name not in connector.config_def]
    )


def _check_worker_classes(plugin: Plugin, findings: Findings) -> None:
    """A Java connector cannot run if it uses objects of Apache's worker."""
    if names := refused(plugin.worker_classes):
        findings.error("connector.class", refusal(plugin.cls, names))


def _wrong_version(config: Config, plugin: Plugin, registry: PluginRegistry) -> str | None:
    wanted = config.get("connector.plugin.version")
    return mismatch(plugin.cls, wanted, registry.versions(plugin.cls)) if wanted is not None else None


def _of_wrong_version(
    config: Config, plugin: Plugin, registry: PluginRegistry, chosen: list[converters.Choice], message: str
) -> dict[str, Any]:
    """Without defaults: the version of a converter is visible if the configuration has the converter."""
    findings = Findings()
    converter_keys = {
        choice.which: ConverterKey(versions=converters.FixedRecommender(shown=choice.given and choice.exists))
        for choice in chosen
    }
    common = common_keys(plugin.version, _recommended_versions(plugin, registry), converter_keys)
    findings.check(ConfigDef(*common), config)
    for name in ("connector.class", "connector.plugin.version"):
        findings.error(name, message)
    return findings.response(config["connector.class"] or "")


def _check_exactly_once(
    connector: SourceConnector, config: Mapping[str, str], enabled: bool, findings: Findings
) -> None:
    if str(findings.valid_value("exactly.once.support")).upper() == "REQUIRED":
        if not enabled:
            findings.error("exactly.once.support", "This worker does not have exactly-once source support enabled.")
        _ask(findings, "exactly.once.support", lambda: _support_problem(connector.exactly_once_support(config)))
    if str(findings.valid_value("transaction.boundary")).upper() == "CONNECTOR":
        _ask(findings, "transaction.boundary", lambda: _boundary_problem(connector, config))


def _ask(findings: Findings, name: str, problem: Callable[[], str | None]) -> None:
    try:
        message = problem()
    except Exception as error:  # third-party code
        message = f"An unexpected error occurred during validation: {error}"
    if message is not None:
        findings.error(name, message)


def _support_problem(support: ExactlyOnceSupport | None) -> str | None:
    if support is None:
        return (
            "The connector does not report whether it supports exactly-once delivery. If it does, set "
            'exactly.once.support to "requested", which skips this check.'
        )
    if support is ExactlyOnceSupport.UNSUPPORTED:
        return "The connector does not support exactly-once semantics with the provided configuration."
    return None


def _boundary_problem(connector: SourceConnector, config: Mapping[str, str]) -> str | None:
    if connector.can_define_transaction_boundaries(config):
        return None
    return (
        "The connector does not support connector-defined transaction boundaries with the given configuration. "
        "Please reconfigure it to use a different transaction boundary definition."
    )

"""Configuration keys common to all connectors."""

from __future__ import annotations

from dataclasses import dataclass

from runtime import CONNECT_VERSION
from runtime.api.config.definition import ConfigKey, ConfigType, Importance, Recommender, Width, grouped
from runtime.api.config.validators import at_least, distinct_aliases, name_without_control_characters, one_of

COMMON = "Common"
ERRORS = "Error Handling"
_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW


@dataclass(frozen=True, slots=True)
class ConverterKey:
    """Defaults (from the worker) and recommenders (from the plugin registry) of a converter's two keys."""

    default: str | None = None
    version: str | None = None
    classes: Recommender | None = None
    versions: Recommender | None = None


def common_keys(
    version: str | None = CONNECT_VERSION,
    version_recommender: Recommender | None = None,
    converters: dict[str, ConverterKey] | None = None,
) -> list[ConfigKey]:
    """The keys in Connect's order. `version` is the connector's; `converters` has "key", "value" and "header"."""
    key, value, header = ((converters or {}).get(which, ConverterKey()) for which in ("key", "value", "header"))
    return [
        *_identity(version, version_recommender),
        *_converter("key", 6, "Converter of record keys", key),
        *_converter("value", 8, "Converter of record values", value),
        *_converter("header", 10, "Converter of header values", header),
        *_chain(),
        *_errors(),
    ]


def _identity(version: str | None, recommender: Recommender | None) -> list[ConfigKey]:
    return [
        *grouped(COMMON, 1,
            ConfigKey("name", ConfigType.STRING, importance=_HIGH, doc="Name of the connector, unique in the cluster.",
                 validator=name_without_control_characters, width=Width.MEDIUM, display_name="Connector name"),
            ConfigKey("connector.class", ConfigType.STRING, importance=_HIGH, doc="Connector plugin to run: its full "
                 "class name or an alias such as FileStreamSource.", width=Width.LONG, display_name="Connector class"),
            ConfigKey("connector.plugin.version", ConfigType.STRING, version, _MEDIUM,
                 "Accepted versions of the plugin: a version, a range such as [4.0,5.0), or latest.",
                 width=Width.MEDIUM, display_name="Connector version", recommender=recommender),
            ConfigKey("tasks.max", ConfigType.INT, 1, _HIGH, "Maximum number of tasks.", at_least(1), width=Width.SHORT,
                 display_name="Tasks max"),
            ConfigKey("tasks.max.enforce", ConfigType.BOOLEAN, True, _LOW, "(Deprecated) Whether a connector that "
                 "creates more tasks than tasks.max fails. If false, the worker only logs a warning.",
                 width=Width.SHORT, display_name="Enforce tasks max"),
        ),
    ]  # fmt: skip


def _converter(which: str, order: int, doc: str, given: ConverterKey) -> tuple[ConfigKey, ...]:
    name, label = f"{which}.converter", which.capitalize()
    return grouped(COMMON, order,
        ConfigKey(name, ConfigType.CLASS, given.default, _LOW, f"{doc}: class name or alias. The default is the "
             f"worker's converter. Keys with the prefix {name}. configure it.", width=Width.SHORT,
             display_name=f"{label} converter class", recommender=given.classes),
        ConfigKey(f"{name}.plugin.version", ConfigType.STRING, given.version, _LOW, f"Accepted versions of {name}.",
             width=Width.SHORT, display_name=f"{label} converter version", recommender=given.versions),
    )  # fmt: skip


def _chain() -> list[ConfigKey]:
    return [
        *grouped("Transforms", 12,
            ConfigKey("transforms", ConfigType.LIST, "", _LOW, "Aliases of the transformations to apply to each "
                 "record, in this order.", distinct_aliases, width=Width.LONG, display_name="Transforms"),
        ),
        *grouped("Predicates", 13,
            ConfigKey("predicates", ConfigType.LIST, "", _LOW, "Aliases of the predicates that transformations refer "
                 "to.", distinct_aliases, width=Width.LONG, display_name="Predicates"),
        ),
        *grouped(COMMON, 14,
            ConfigKey("config.action.reload", ConfigType.STRING, "restart", _LOW, "Action when a value from a config "
                 "provider expires: restart the connector, or none.", one_of("none", "restart"), width=Width.MEDIUM,
                 display_name="Reload Action"),
        ),
    ]  # fmt: skip


def _errors() -> list[ConfigKey]:
    return [
        *grouped(ERRORS, 1,
            ConfigKey("errors.retry.timeout", ConfigType.LONG, 0, _MEDIUM, "Milliseconds for which a failed operation "
                 "is retried; 0 disables retries, -1 retries without limit.", width=Width.MEDIUM,
                 display_name="Retry Timeout for Errors"),
            ConfigKey("errors.retry.delay.max.ms", ConfigType.LONG, 60_000, _MEDIUM, "Maximum delay between two "
                 "retries, in milliseconds.", width=Width.MEDIUM,
                 display_name="Maximum Delay Between Retries for Errors"),
            ConfigKey("errors.tolerance", ConfigType.STRING, "none", _MEDIUM, "How to handle a record that cannot be "
                 "processed: none fails the task, all skips the record.", one_of("none", "all"), width=Width.SHORT,
                 display_name="Error Tolerance"),
            ConfigKey("errors.log.enable", ConfigType.BOOLEAN, False, _MEDIUM, "Whether to log tolerated errors.",
                 width=Width.SHORT, display_name="Log Errors"),
            ConfigKey("errors.log.include.messages", ConfigType.BOOLEAN, False, _MEDIUM,
                 "Whether logged errors include the record, which may write confidential data to the log.",
                 width=Width.SHORT, display_name="Log Error Details"),
        ),
    ]  # fmt: skip

"""The keys that every connector has."""

from __future__ import annotations

from dataclasses import dataclass

from runtime import CONNECT_VERSION
from runtime.api.config.definition import ConfigKey, Importance, Recommender, Type, Width
from runtime.api.config.validators import at_least, distinct_aliases, name_without_control_characters, one_of

COMMON = "Common"
ERRORS = "Error Handling"
_HIGH, _MEDIUM, _LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW


@dataclass(frozen=True, slots=True)
class ConverterKey:
    """What fills in a converter's two keys: defaults by the worker, suggestions from the registry."""

    default: str | None = None
    version: str | None = None
    classes: Recommender | None = None
    versions: Recommender | None = None


def common_keys(
    version: str = CONNECT_VERSION,
    version_recommender: Recommender | None = None,
    converters: dict[str, ConverterKey] | None = None,
) -> list[ConfigKey]:
    """In Connect's order; `version` is the connector's, `converters` go by "key", "value" and "header"."""
    key, value, header = ((converters or {}).get(which, ConverterKey()) for which in ("key", "value", "header"))
    return [
        *_identity(version, version_recommender),
        *_converter("key", 6, "Turns record keys into Connect's data and back", key),
        *_converter("value", 8, "Turns record values into Connect's data and back", value),
        *_converter("header", 10, "Turns header values into Connect's data and back", header),
        *_chain(),
        *_errors(),
    ]


def _identity(version: str, recommender: Recommender | None) -> list[ConfigKey]:
    return [
        ConfigKey(
            "name", Type.STRING, importance=_HIGH, doc="What the connector is called; no other in the cluster may have "
            "the same name.", validator=name_without_control_characters, group=COMMON, order_in_group=1,
            width=Width.MEDIUM, display_name="Connector name",
        ),
        ConfigKey(
            "connector.class", Type.STRING, importance=_HIGH, doc="Which connector plugin to run: its full class name, "
            "or one of its short names such as FileStreamSource.", group=COMMON, order_in_group=2, width=Width.LONG,
            display_name="Connector class",
        ),
        ConfigKey(
            "connector.plugin.version", Type.STRING, version, _MEDIUM, "Which version of the plugin is accepted: one "
            "version, a range such as [4.0,5.0), or latest.", group=COMMON, order_in_group=3, width=Width.MEDIUM,
            display_name="Connector version", recommender=recommender,
        ),
        ConfigKey(
            "tasks.max", Type.INT, 1, _HIGH, "Into how many tasks the work may be split at most.", at_least(1),
            COMMON, 4, Width.SHORT, "Tasks max",
        ),
        ConfigKey(
            "tasks.max.enforce", Type.BOOLEAN, True, _LOW, "(Deprecated) Whether a connector that asks for more tasks "
            "than tasks.max fails. Without this it only gets a warning in the log.", None, COMMON, 5, Width.SHORT,
            "Enforce tasks max",
        ),
    ]  # fmt: skip


def _converter(which: str, order: int, doc: str, given: ConverterKey) -> list[ConfigKey]:
    name, label = f"{which}.converter", which.capitalize()
    return [
        ConfigKey(
            name, Type.CLASS, given.default, _LOW, f"{doc}: class or short name of a converter. The worker's own is "
            "used when none is given; the keys behind this one's name, with a dot between, configure it.",
            None, COMMON, order, Width.SHORT, f"{label} converter class", recommender=given.classes,
        ),
        ConfigKey(
            f"{name}.plugin.version", Type.STRING, given.version, _LOW, f"Which version of {name} is accepted.", None,
            COMMON, order + 1, Width.SHORT, f"{label} converter version", recommender=given.versions,
        ),
    ]  # fmt: skip


def _chain() -> list[ConfigKey]:
    return [
        ConfigKey(
            "transforms", Type.LIST, "", _LOW, "Names, chosen freely, of the transformations that records go through, "
            "in this order.", distinct_aliases, "Transforms", 12, Width.LONG, "Transforms",
        ),
        ConfigKey(
            "predicates", Type.LIST, "", _LOW, "Names, chosen freely, of the conditions that transformations refer to.",
            distinct_aliases, "Predicates", 13, Width.LONG, "Predicates",
        ),
        ConfigKey(
            "config.action.reload", Type.STRING, "restart", _LOW, "What happens to the connector when a value that a "
            "config provider supplied changes: restart, or none.", one_of("none", "restart"), COMMON, 14,
            Width.MEDIUM, "Reload Action",
        ),
    ]  # fmt: skip


def _errors() -> list[ConfigKey]:
    return [
        ConfigKey(
            "errors.retry.timeout", Type.LONG, 0, _MEDIUM, "For how many milliseconds a failed operation is tried "
            "again; 0 means not at all, -1 without end.", None, ERRORS, 1, Width.MEDIUM, "Retry Timeout for Errors",
        ),
        ConfigKey(
            "errors.retry.delay.max.ms", Type.LONG, 60_000, _MEDIUM, "The longest pause between two tries, in "
            "milliseconds.", None, ERRORS, 2, Width.MEDIUM, "Maximum Delay Between Retries for Errors",
        ),
        ConfigKey(
            "errors.tolerance", Type.STRING, "none", _MEDIUM, "What a record that cannot be processed does: none fails "
            "the task, all leaves the record out and goes on.", one_of("none", "all"), ERRORS, 3, Width.SHORT,
            "Error Tolerance",
        ),
        ConfigKey(
            "errors.log.enable", Type.BOOLEAN, False, _MEDIUM, "Whether errors that are tolerated are logged.", None,
            ERRORS, 4, Width.SHORT, "Log Errors",
        ),
        ConfigKey(
            "errors.log.include.messages", Type.BOOLEAN, False, _MEDIUM, "Whether that log shows the record too, which "
            "may put confidential data into it.", None, ERRORS, 5, Width.SHORT, "Log Error Details",
        ),
    ]  # fmt: skip

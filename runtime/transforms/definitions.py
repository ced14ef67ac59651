"""Configuration keys that several transformations share, and validators of lists."""

from __future__ import annotations

from typing import Any

from runtime.api.config.definition import REQUIRED, ConfigKey, ConfigType, Importance, Validator
from runtime.api.config.types import invalid
from runtime.api.config.validators import distinct_entries, one_of_ignoring_case
from runtime.api.errors import ConfigError

HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW


def key(
    name: str, doc: str, type_: ConfigType = ConfigType.STRING, default: Any = REQUIRED, importance: Importance = HIGH,
    validator: Validator | None = None,
) -> ConfigKey:  # fmt: skip
    """A key of a transformation or predicate, which has no group and no display name."""
    distinct = validator in (some_values, distinct_entries)
    return ConfigKey(name, type_, default, importance, doc, validator, distinct=distinct)


def non_empty_list(name: str, value: Any) -> None:
    """A required list with at least one entry."""
    if value is None or value == []:
        raise invalid(name, value, "Empty list")


def some_values(name: str, value: Any) -> None:
    """A required list with at least one entry, without empty or duplicate entries."""
    if value is None:
        raise ConfigError(f"Configuration '{name}' values must not be null.")
    if not value:
        raise ConfigError(f"Configuration '{name}' must not be empty. Valid values include: any non-empty value")
    distinct_entries(name, value)


def split_by_colon(text: str) -> list[str]:
    """Splits like Java's String.split(): drops empty parts at the end, unless the whole text is empty."""
    parts = text.split(":")
    while text and parts and not parts[-1]:
        parts.pop()
    return parts


REPLACE_NULL = key(
    "replace.null.with.default",
    "Whether to replace null fields with the default of their schema.",
    ConfigType.BOOLEAN, True, MEDIUM,
)  # fmt: skip

FIELD_SYNTAX = key(
    "field.syntax.version",
    "Syntax of field names. V1: names of top-level fields. V2: paths, with dots between nested fields and backticks "
    "around names that contain dots.",
    ConfigType.STRING, "V1", HIGH, one_of_ignoring_case("V1", "V2"),
)  # fmt: skip

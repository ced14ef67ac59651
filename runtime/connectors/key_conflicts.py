"""Configuration keys whose values are valid alone, but do not fit each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from runtime.api.config.definition import ConfigValue
from runtime.api.errors import ConfigError

Conflicts = Callable[[Mapping[str, Any]], Mapping[str, str]]
"""From the parsed values, without invalid ones, to an error for each key that does not fit others."""


def with_conflicts(values: list[ConfigValue], conflicts: Conflicts) -> list[ConfigValue]:
    """The values of a validation, with these errors added."""
    by_name = {value.name: value for value in values}
    for name, error in conflicts({value.name: value.value for value in values if not value.errors}).items():
        by_name[name].errors.append(error)
    return values


def refuse_conflicts(parsed: Mapping[str, Any], conflicts: Conflicts) -> None:
    """ConfigError with the first of these errors."""
    for error in conflicts(parsed).values():
        raise ConfigError(error)

"""Definitions of configuration keys: types, defaults, validators, documentation (Connect: ConfigDef)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Type(StrEnum):
    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


class Importance(StrEnum):
    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Width(StrEnum):
    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"


REQUIRED: Any = object()
"""As a default: the key has none and must be given."""

Validator = Callable[[str, Any], None]
"""Raises ConfigError for a bad (name, parsed value)."""


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One key. `default` REQUIRED means there is none."""

    name: str
    type: Type
    default: Any = REQUIRED
    importance: Importance = Importance.HIGH
    doc: str = ""
    validator: Validator | None = None
    group: str | None = None
    order_in_group: int = -1
    width: Width = Width.NONE
    display_name: str | None = None
    dependents: tuple[str, ...] = ()


@dataclass(slots=True)
class ConfigValue:
    """A key's value after validation, with what is wrong with it."""

    name: str
    value: Any = None
    recommended_values: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    visible: bool = True


class ConfigDef:
    """An ordered set of keys."""

    def __init__(self, *keys: ConfigKey) -> None:
        self.keys: dict[str, ConfigKey] = {k.name: k for k in keys}

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        """Every key's value and errors; nothing is raised."""
        raise NotImplementedError

    def parse(self, config: Mapping[str, str]) -> dict[str, Any]:
        """Typed values of every key, defaults filled in; ConfigError for the first bad one."""
        raise NotImplementedError

"""Definitions of configuration keys: types, defaults, validators, documentation (Java: ConfigDef)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol

from runtime.api.config.types import ConfigType, Password, parse
from runtime.api.config.validators import Validator
from runtime.api.errors import ConfigError

__all__ = [
    "REQUIRED",
    "ConfigDef",
    "ConfigKey",
    "ConfigType",
    "ConfigValue",
    "Importance",
    "Password",
    "Recommender",
    "Validator",
    "Width",
]


class Importance(StrEnum):
    """How much a key matters to most users."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Width(StrEnum):
    """The expected length of a value, for forms that edit it."""

    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"


REQUIRED: Any = object()
"""The default of keys that must be set."""


class Recommender(Protocol):
    """Recommends values for a key, depending on the values of other keys.

    `parsed` has the typed value of each key that is valid. ConfigError adds an error to the key. A subclass may leave
    out visible()."""

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        """The recommended values; empty for none."""

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        """Whether the key applies, given the other values. A key that does not is still validated."""
        return True


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One configuration key. Its default may be text, which is parsed; REQUIRED means that the key must be set."""

    name: str
    type: ConfigType
    default: Any = REQUIRED
    importance: Importance = Importance.HIGH
    doc: str = ""
    validator: Validator | None = None
    group: str | None = None
    order_in_group: int = -1
    width: Width = Width.NONE
    display_name: str | None = None
    dependents: tuple[str, ...] = ()
    recommender: Recommender | None = None
    distinct: bool = False  # for lists: validate() reports repeated entries, parse() removes them

    @property
    def shown_name(self) -> str | None:
        """What users see: the name, if there is no `display_name`."""
        return self.display_name or self.name

    @property
    def required(self) -> bool:
        """Whether the key has no default."""
        return self.default is REQUIRED

    def typed_default(self) -> Any:
        """The default as a value of the key's type; None if the key is required."""
        return None if self.required else parse(self.name, self.default, self.type)


def grouped(group: str, first: int, *keys: ConfigKey) -> tuple[ConfigKey, ...]:
    """The keys as members of the group, in this order; `first` is the place of the first one."""
    return tuple(replace(key, group=group, order_in_group=first + n) for n, key in enumerate(keys))


@dataclass(slots=True)
class ConfigValue:
    """The value of a key after validation: typed (None if invalid), with errors and recommended values."""

    name: str
    value: Any = None
    recommended_values: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    visible: bool = True


Conflicts = Callable[[Mapping[str, Any]], Mapping[str, str]]
"""From the parsed values, without invalid ones, to an error for each key that does not fit others."""


class ConfigDef:
    """An ordered set of configuration keys (Java: ConfigDef). `conflicts` checks keys against each other."""

    def __init__(self, *keys: ConfigKey, conflicts: Conflicts | None = None) -> None:
        self.keys: dict[str, ConfigKey] = {k.name: k for k in keys}
        self._conflicts = conflicts

    def __iter__(self) -> Iterator[ConfigKey]:
        return iter(self.keys.values())

    def __contains__(self, name: object) -> bool:
        return name in self.keys

    @property
    def groups(self) -> list[str]:
        """The names of the groups, in the order of their first keys."""
        return list(dict.fromkeys(k.group for k in self if k.group is not None))

    def validate(self, config: Mapping[str, Any]) -> list[ConfigValue]:
        """The value and errors of every key; raises nothing. Undefined keys in `config` are ignored."""
        values = {key.name: _value_of(key, config) for key in self}
        self._report_undefined_dependents(values)
        parsed = {name: v.value for name, v in values.items() if not v.errors}
        for key in self:
            _recommend(key, values[key.name], parsed)
        if self._conflicts is not None:
            valid = {name: v.value for name, v in values.items() if not v.errors}
            for name, error in self._conflicts(valid).items():
                values[name].errors.append(error)
        return list(values.values())

    def parse(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The typed value of every key, or its default; ConfigError for the first invalid value."""
        values = [_value_of(key, config, as_set=key.distinct) for key in self]
        for value in values:
            if value.errors:
                raise ConfigError(value.errors[0])
        parsed = {v.name: v.value for v in values}
        for error in self._conflicts(parsed).values() if self._conflicts is not None else ():
            raise ConfigError(error)
        return parsed

    def _report_undefined_dependents(self, values: dict[str, ConfigValue]) -> None:
        for name in dict.fromkeys(d for key in self for d in key.dependents if d not in self.keys):
            reason = f"{name} is referred in the dependents, but not defined."
            values[name] = ConfigValue(name, errors=[reason], visible=False)


def _value_of(key: ConfigKey, config: Mapping[str, Any], as_set: bool = False) -> ConfigValue:
    value = ConfigValue(key.name)
    try:
        if key.name in config:
            value.value = parse(key.name, config[key.name], key.type)
        elif key.required:
            value.errors.append(f'Missing required configuration "{key.name}" which has no default value.')
        else:
            value.value = key.typed_default()
    except ConfigError as error:
        value.errors.append(str(error))
    if as_set and isinstance(value.value, list):
        value.value = list(dict.fromkeys(value.value))
    if key.validator is not None:
        try:
            key.validator(key.name, value.value)
        except ConfigError as error:
            value.errors.append(str(error))
    return value


def _recommend(key: ConfigKey, value: ConfigValue, parsed: Mapping[str, Any]) -> None:
    if key.recommender is None:
        return
    try:
        value.recommended_values = key.recommender.valid_values(key.name, parsed)
        value.visible = key.recommender.visible(key.name, parsed)
    except ConfigError as error:
        value.errors.append(str(error))

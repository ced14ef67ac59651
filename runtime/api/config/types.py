"""Types of configuration values: parsing and formatting as Java's ConfigDef does."""

from __future__ import annotations

import math
import re
from enum import StrEnum
from typing import Any

from runtime.api.errors import ConfigError

_JAVA_BLANKS = "".join(map(chr, range(33)))
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)\Z")
_SPLIT = re.compile(r"\s*,\s*")


class ConfigType(StrEnum):
    """The type of a configuration value (Java: ConfigDef.Type). LIST is `list[str]`, CLASS is a name."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


class Password:
    """A secret, which str() and repr() hide; `value` is the secret."""

    __slots__ = ("value",)

    def __init__(self, value: str) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Password) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __str__(self) -> str:
        return "[hidden]"

    __repr__ = __str__


def java_trim(text: str) -> str:
    """Removes characters up to U+0020 from both ends, as Java's String.trim(); keeps other white space."""
    return text.strip(_JAVA_BLANKS)


def shown(value: Any) -> str:
    """The value as messages show it: null, true, [a, b]."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]"
    return str(value)


def invalid(name: str, value: Any, reason: str) -> ConfigError:
    """The error for an invalid value, with Connect's wording."""
    return ConfigError(f"Invalid value {shown(value)} for configuration {name}: {reason}")


def to_text(value: Any) -> str | None:
    """A typed value as text that parse() accepts; a Password is hidden."""
    if value is None:
        return None
    if isinstance(value, list):
        return ",".join(map(str, value))
    if isinstance(value, float):
        return _double_text(value)
    return shown(value)


def parse(name: str, text: Any, type_: ConfigType) -> Any:
    """The typed value of a text; ConfigError if the text is invalid. Other values are returned unchanged."""
    if text is None or not isinstance(text, str):
        return text
    trimmed = java_trim(text)
    if type_ is ConfigType.BOOLEAN:
        return _boolean(name, text, trimmed)
    if type_ is ConfigType.LIST:
        return _SPLIT.split(trimmed) if trimmed else []
    if type_ is ConfigType.PASSWORD:
        return Password(trimmed)
    if type_ is ConfigType.DOUBLE:
        return _double(name, text, trimmed)
    if type_ in _BITS:
        return _integer(name, text, trimmed, type_)
    return trimmed


_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}


def _boolean(name: str, text: str, trimmed: str) -> bool:
    lowered = trimmed.lower()
    if lowered not in ("true", "false"):
        raise invalid(name, text, "Expected value to be either true or false")
    return lowered == "true"


def _integer(name: str, text: str, trimmed: str, type_: ConfigType) -> int:
    limit = 1 << (_BITS[type_] - 1)
    if len(trimmed) <= 20 and _INTEGER.match(trimmed) and -limit <= (number := int(trimmed)) < limit:
        return number
    raise invalid(name, text, f"Not a number of type {type_}")


def _double(name: str, text: str, trimmed: str) -> float:
    if not _DOUBLE.match(trimmed):
        raise invalid(name, text, f"Not a number of type {ConfigType.DOUBLE}")
    return float(trimmed if trimmed.endswith("y") else trimmed.rstrip("fFdD"))


def _double_text(value: float) -> str:
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return "NaN" if math.isnan(value) else repr(value)

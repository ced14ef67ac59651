"""Settings that Connect knows and this version does not act on yet, where ignoring them would change what happens.

The one list: what becomes supported is deleted here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.api.config import ConfigValue
from runtime.api.values import shown

HONOURED: dict[str, tuple[Any, ...]] = {
}
"""Key: the values that are acted on."""

PREFIXES: tuple[str, ...] = ()
"""Keys that begin so are not acted on, whatever they say."""


def refuse_unsupported(config: Mapping[str, str | None], values: dict[str, ConfigValue]) -> None:
    """An error at every setting that would silently do nothing."""
    for name, honoured in HONOURED.items():
        value = values.get(name)
        if value is not None and not value.errors and value.value not in honoured:
            value.errors.append(_message(name, shown(value.value)))
    for name, text in config.items():
        if name.startswith(PREFIXES) and text is not None:
            values[name] = ConfigValue(name, text, errors=[_message(name, text)])


def _message(name: str, value: str) -> str:
    return f"Invalid value {value} for configuration {name}: not supported by this version"

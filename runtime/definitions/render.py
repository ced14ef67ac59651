"""Definitions and values of configuration keys as JSON of the REST API, with Connect's order of fields."""

from __future__ import annotations

from typing import Any

from runtime.api.config.definition import ConfigKey, ConfigValue
from runtime.api.config.types import to_text


def definition(key: ConfigKey, prefix: str = "", group: str | None = None) -> dict[str, Any]:
    """The definition of a key; `prefix` is prepended to its name, `group` is the default group."""
    return {
        "name": prefix + key.name,
        "type": key.type.value,
        "required": key.required,
        "default_value": to_text(key.typed_default()),
        "importance": key.importance.value,
        "documentation": key.doc,
        "group": group if key.group is None else key.group,
        "order_in_group": key.order_in_group,
        "width": key.width.value,
        "display_name": key.shown_name,
        "dependents": [prefix + d for d in key.dependents],
    }


def value(found: ConfigValue, prefix: str = "") -> dict[str, Any]:
    """The value of a key with its errors."""
    return {
        "name": prefix + found.name,
        "value": to_text(found.value),
        "recommended_values": [to_text(v) for v in found.recommended_values],
        "errors": list(found.errors),
        "visible": found.visible,
    }

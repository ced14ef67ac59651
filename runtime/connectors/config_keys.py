"""Configuration keys that several connectors have."""

from __future__ import annotations

from typing import Any

from runtime.api.config.definition import ConfigKey, ConfigType, Importance, Width
from runtime.api.config.validators import non_empty


def topic_key(group: str, order: int) -> ConfigKey:
    """The topic that a source writes."""
    return ConfigKey(
        "topic", ConfigType.STRING, importance=Importance.HIGH, doc="Topic for the records.", validator=non_empty,
        group=group, order_in_group=order, width=Width.MEDIUM, display_name="Topic",
    )  # fmt: skip


def grouped_key(name: str, kind: ConfigType, default: Any, doc: str, group: str, order: int, **more: Any) -> ConfigKey:
    """A key of medium importance, unless `more` sets other values of ConfigKey."""
    return ConfigKey(
        name, kind, default, doc=doc, group=group, order_in_group=order, **{"importance": Importance.MEDIUM, **more}
    )

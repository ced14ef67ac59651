"""Definitions of a plugin's config keys, and the errors of a validation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from tui.client.responses import KeyResponse, ValidationResponse, ValueResponse

# Keys that the worker or another plugin reads, not the connector.
_FOREIGN = re.compile(
    r"(?:producer|consumer|admin)\.override\.|(?:key|value|header)\.converter\.|topic\.creation\.|errors\.|config\."
)
IMPORTANCE = {"HIGH": 0, "MEDIUM": 1, "LOW": 2}


class KeyDefinition(NamedTuple):
    """One config key of a plugin; only a validation sets `recommended` and `errors`."""

    name: str
    type: str = "STRING"
    required: bool = False
    default: str | None = None
    importance: str = ""
    documentation: str = ""
    group: str = ""
    order: int = 0
    recommended: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    visible: bool = True

    @property
    def is_password(self) -> bool:
        return self.type == "PASSWORD"

    @property
    def choices(self) -> tuple[str, ...]:
        """Values to suggest."""
        return self.recommended or (("true", "false") if self.type == "BOOLEAN" else ())

    @property
    def rank(self) -> tuple[bool, int, str, int, str]:
        """The sort key: required keys first, then by importance and group."""
        return (not self.required, IMPORTANCE.get(self.importance, 3), self.group, self.order, self.name)


class Validation(NamedTuple):
    """The response of `PUT /connector-plugins/{class}/config/validate`."""

    keys: Mapping[str, KeyDefinition] = {}
    refusal: str = ""  # why the worker did not validate at all, such as an unknown class

    @property
    def errors(self) -> dict[str, tuple[str, ...]]:
        if self.refusal:
            return {"connector.class": (self.refusal,)}
        return {key.name: key.errors for key in self.keys.values() if key.errors}


def of_plugin(response: Iterable[KeyResponse]) -> dict[str, KeyDefinition]:
    """The definitions in a response of `GET /connector-plugins/{class}/config`."""
    return {entry["name"]: _key(entry, {}) for entry in response}


def of_validation(response: ValidationResponse) -> Validation:
    """The definitions, values and errors in a response of `PUT /connector-plugins/{class}/config/validate`."""
    entries = response.get("configs") or ()
    keys = (_key(entry.get("definition") or {"name": ""}, entry.get("value") or {}) for entry in entries)
    return Validation({key.name: key for key in keys})


def _key(definition: KeyResponse, value: ValueResponse) -> KeyDefinition:
    default = definition.get("default_value")
    return KeyDefinition(
        name=definition.get("name") or value.get("name") or "",
        type=definition.get("type") or "STRING",
        required=bool(definition.get("required")),
        default=None if default is None else str(default),
        importance=definition.get("importance") or "",
        documentation=definition.get("documentation") or "",
        group=definition.get("group") or "",
        order=definition.get("order_in_group") or 0,
        recommended=tuple(str(recommended) for recommended in value.get("recommended_values") or ()),
        errors=tuple(value.get("errors") or ()),
        visible=bool(value.get("visible", True)),
    )


def passwords(keys: Mapping[str, KeyDefinition]) -> frozenset[str]:
    """Names of the keys of type PASSWORD."""
    return frozenset(name for name, key in keys.items() if key.is_password)


def unknown(config: Mapping[str, Any], keys: Mapping[str, KeyDefinition]) -> dict[str, str]:
    """Keys that no definition lists, each with the most similar known key (or an empty text)."""
    if not keys:
        return {}
    own = (*_aliases(config, "transforms"), *_aliases(config, "predicates"))
    suggestions = {}
    for name in config:
        if name not in keys and not _FOREIGN.match(name) and not name.startswith(own):
            suggestions[name] = next(iter(get_close_matches(name, _similar_length(name, keys), 1, 0.75)), "")
    return suggestions


def _aliases(config: Mapping[str, Any], kind: str) -> Sequence[str]:
    """Prefixes such as `transforms.a.`: the keys below belong to the transformation's own definition."""
    named = str(config.get(kind) or "").split(",")
    return [f"{kind}.{alias.strip()}." for alias in named if alias.strip()]


def _similar_length(name: str, keys: Mapping[str, KeyDefinition]) -> Sequence[str]:
    """Keys of similar length: comparing with all of 500 keys takes too long while the user types."""
    return [key for key in keys if abs(len(key) - len(name)) <= 3]

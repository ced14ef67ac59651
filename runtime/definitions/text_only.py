"""Validation of a configuration as text, for users who may not create connectors: nothing that the text names is
resolved, opened or run.

Definitions of installed plugins are read, as for GET /connector-plugins/{plugin}/config. Their validators and
recommended values, which are code of the plugin, and values with variables are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from runtime.api.config.definition import ConfigDef, ConfigKey
from runtime.config.providers import has_variables

_PLAIN = ("runtime.api.config.", "runtime.definitions.")
"""Modules whose validators and recommenders look at nothing but their arguments."""

CODE = (
    "Plugins: their own checks, validators and recommended values, the override policy and file paths were not "
    "checked, because that runs code; it needs the role admin"
)


def variables_of(config: Mapping[str, str | None]) -> list[str]:
    """The keys whose values contain variables."""
    return [key for key, value in config.items() if has_variables(value)]


def unchecked(variables: list[str]) -> list[str]:
    """What the response says about checks that were left out."""
    if not variables:
        return [CODE]
    return [CODE, f"Variables were not resolved, which needs the role admin: {', '.join(variables)}"]


def without_code(definition: ConfigDef) -> ConfigDef:
    """The keys without validators and recommenders of plugins."""
    return ConfigDef(*map(_without_code, definition))


def _without_code(key: ConfigKey) -> ConfigKey:
    return replace(
        key,
        validator=key.validator if _is_plain(key.validator) else None,
        recommender=key.recommender if _is_plain(type(key.recommender)) else None,
    )


def _is_plain(code: object) -> bool:
    return str(getattr(code, "__module__", "")).startswith(_PLAIN)

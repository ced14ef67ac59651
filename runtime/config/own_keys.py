"""Checks of Headrace's own properties of connectors, which no connector defines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from runtime.api.config.definition import ConfigDef
from runtime.api.errors import ConfigError


def invalid_own_keys(prefix: str, definition: ConfigDef, config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each invalid or unknown key with this prefix, with the error."""
    for key, text in config.items():
        if not key.startswith(prefix):
            continue
        if key not in definition.keys:
            yield key, f"Unknown configuration {key}; choose from {', '.join(definition.keys)}"
            continue
        try:
            definition.parse({key: text})
        except ConfigError as e:
            yield key, str(e)

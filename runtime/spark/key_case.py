"""Restores the case of configuration keys, which Spark changes to lower case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

KeysOf = Callable[[str], Iterable[str]]
"""The configuration keys of a plugin, by its class name or alias; none if it is unknown."""


def restored(config: Mapping[str, str], keys_of: KeysOf) -> dict[str, str]:
    """The configuration with the keys that the connector, Connect, transformations and predicates define, in their
    case. Aliases have the case of the lists in which they occur. Other keys remain in lower case."""
    names = _by_lower(keys_of(config.get("connector.class", "").strip()))
    found = {names.get(key, key): text for key, text in config.items()}
    for kind in ("transforms", "predicates"):
        for alias in filter(None, (part.strip() for part in found.get(kind, "").split(","))):
            prefix = f"{kind}.{alias}."
            inner = _by_lower(keys_of(found.get(f"{prefix.lower()}type", "").strip()))
            for key in [key for key in found if key.lower().startswith(prefix.lower())]:
                rest = key[len(prefix) :]
                found[prefix + inner.get(rest, rest)] = found.pop(key)
    return found


def _by_lower(names: Iterable[str]) -> dict[str, str]:
    return {name.lower(): name for name in names}

"""Plugin versions in configurations: one version, "latest", or ranges in Maven's notation (KIP-891)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runtime.api.errors import ConfigError

LATEST = "latest"

_RANGE = re.compile(r"\s*([\[(])([^,\])]*)(?:(,)([^\])]*))?([\])])\s*(?:,|\Z)")
_PART = re.compile(r"\d+|[A-Za-z]+")
_Version = tuple[tuple[int, str], ...]


def invalid_range(wanted: str) -> str | None:
    """The reason why the value of a `plugin.version` key is not a version or range; None if it is one."""
    try:
        matches(_as_range(wanted), "")
    except ConfigError as error:
        return str(error)
    return None


def mismatch(cls: str, wanted: str, available: Sequence[str]) -> str | None:
    """The reason why no version of a plugin in `available` satisfies `wanted`; None if one does."""
    shown = _as_range(wanted)
    try:
        if any(matches(shown, version) for version in available):
            return None
    except ConfigError as error:
        return str(error)
    shown = shown or "[,]"
    versions = ", ".join(available)
    return f"Plugin {cls} not found that matches the version range {shown}, available versions: [{versions}]"


def satisfies(wanted: str | None, version: str) -> bool:
    """Whether a version satisfies the value of a `plugin.version` key; None: any version does. False for an invalid
    range."""
    return wanted is None or mismatch("", wanted, [version]) is None


def sort_key(version: str) -> tuple[bool, _Version]:
    """Orders versions by age; a version without a number, such as "undefined", is older than all others."""
    return any(part.isdigit() for part in version), _version(version)


def _as_range(wanted: str) -> str:
    shown = wanted.strip()
    if shown and wanted != LATEST and not shown.startswith(("[", "(")):
        return f"[{shown}]" if "," in shown else f"[{shown},{shown}]"
    return shown


def matches(wanted: str, available: str) -> bool:
    """Whether a version equals `wanted` or is in one of its ranges; ConfigError for an invalid range."""
    if wanted == LATEST:
        return True
    if not wanted.startswith(("[", "(")):
        return bool(wanted) and _version(wanted) == _version(available)
    rest, matches = wanted, False
    while rest:
        match = _RANGE.match(rest)
        if match is None:
            raise ConfigError(f"Unbounded range: {wanted}")
        matches |= _within(match, _version(available))
        rest = rest[match.end() :]
    return matches


def _within(match: re.Match[str], version: _Version) -> bool:
    opening, low, comma, high, closing = (part.strip() if part else "" for part in match.groups())
    if not comma:
        return _version(low) == version
    above = not low or version > _version(low) or (opening == "[" and version == _version(low))
    below = not high or version < _version(high) or (closing == "]" and version == _version(high))
    return above and below


def _version(text: str) -> _Version:
    """A comparable version; trailing zeros are ignored (4.3 is 4.3.0), letters sort before numbers (4.3-rc1 < 4.3)."""
    parts = [(1, f"{int(p):020}") if p.isdigit() else (-1, p.lower()) for p in _PART.findall(text)]
    while parts and parts[-1] == (1, f"{0:020}"):
        parts.pop()
    return (*parts, (0, ""))

"""Secret values of a config, and the masks that the console shows in their place and never sends."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from tui.scrubbing import HIDDEN, is_sensitive

MASK = "********"
# Masks of servers, of proxies and of the console itself.
_MASKED = re.compile(r"\*{3,}|•{3,}|\[hidden]|[\[<]?(?:redacted|masked)[]>]?", re.IGNORECASE)


def is_secret(key: str, value: str) -> bool:
    """Whether the key's name suggests a secret. A reference such as `${file:…}` reveals nothing and may be shown."""
    return is_sensitive(key) and not is_reference(value)


def is_reference(value: str) -> bool:
    """Whether the value has the form `${provider:path:key}`, which the worker resolves."""
    return value.startswith("${") and value.endswith("}") and ":" in value


def is_masked(value: str) -> bool:
    """Whether the value is a mask or contains one of the worker, as in `https://user:[hidden]@host`. It stands
    for the unchanged value, and is never sent."""
    return HIDDEN in value or _MASKED.fullmatch(value) is not None


def contains_mask(value: str) -> bool:
    """Whether the value mixes a mask with other text: neither the old value nor a new one."""
    return (MASK in value or HIDDEN in value) and _MASKED.fullmatch(value) is None


def shown(config: Mapping[str, str], passwords: Collection[str] = ()) -> dict[str, str]:
    """The config with secrets masked; `passwords` are the keys of type PASSWORD."""
    return {key: MASK if hides(key, value, passwords) else value for key, value in config.items()}


def masked(key: str, value: str | None, passwords: Collection[str] = ()) -> str | None:
    """The value as it may be shown."""
    return MASK if value is not None and hides(key, value, passwords) else value


def hides(key: str, value: str, passwords: Collection[str] = ()) -> bool:
    """Whether the value is masked on the screen."""
    return bool(value) and (is_secret(key, value) or (key in passwords and not is_reference(value)))

"""Values that nobody shall read over a shoulder, and masks that must never be sent in their place."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from tui.scrubbing import is_sensitive

MASK = "********"
# What servers, proxies and we ourselves put in place of a secret.
_MASKED = re.compile(r"\*{3,}|•{3,}|\[hidden]|[\[<]?(?:redacted|masked)[]>]?", re.IGNORECASE)


def is_secret(key: str, value: str) -> bool:
    """By its name. A reference such as `${file:…}` tells nothing and may be seen."""
    return is_sensitive(key) and not is_reference(value)


def is_reference(value: str) -> bool:
    """`${provider:path:key}`: the worker looks it up."""
    return value.startswith("${") and value.endswith("}") and ":" in value


def is_masked(value: str) -> bool:
    """Stands for a value that was not told: it means "as it is", and is never sent."""
    return _MASKED.fullmatch(value) is not None


def holds_mask(value: str) -> bool:
    """A mask with something typed beside it: neither the old value nor a new one."""
    return MASK in value and not is_masked(value)


def shown(config: Mapping[str, str], passwords: Collection[str] = ()) -> dict[str, str]:
    """As a screen may show it; `passwords` are the keys that the plugin calls so."""
    return {key: MASK if hides(key, value, passwords) else value for key, value in config.items()}


def hides(key: str, value: str, passwords: Collection[str] = ()) -> bool:
    return bool(value) and (is_secret(key, value) or (key in passwords and not is_reference(value)))

"""What must not be written down: values of sensitive config keys, and user information in URLs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

HIDDEN = "[hidden]"
_SENSITIVE = re.compile(
    r"password|passwd|passphrase|secret|token|credential|jaas|private[._-]?key|(?:api|access|account|auth)[._-]?key"
    r"|basic\.auth\.user\.info|authorization",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"\$\{[^}]*\}\s*|\*+|")  # a provider's name for the value, or masked already
_USER_INFO = re.compile(r"(?<=://)[^/\s@]+@")


def is_sensitive(key: str) -> bool:
    return _SENSITIVE.search(key) is not None


def scrubbed(value: Any, key: str = "") -> Any:
    """The same JSON with sensitive values hidden; references such as `${file:…}` say no secret and stay."""
    if isinstance(value, Mapping):
        return {name: scrubbed(part, str(name)) for name, part in value.items()} | _pair(value)
    if isinstance(value, list | tuple):
        return [scrubbed(part, key) for part in value]
    if isinstance(value, str):
        return _text(value, key)
    return HIDDEN if value is not None and key and is_sensitive(key) and not isinstance(value, bool) else value


def _pair(value: Mapping[Any, Any]) -> dict[str, Any]:
    """Validation answers name the key beside the value: `{"name": "x.password", "value": "…"}`."""
    name = value.get("name")
    if isinstance(name, str) and is_sensitive(name) and isinstance(value.get("value"), str):
        return {"value": _text(value["value"], name)}
    return {}


def _text(value: str, key: str) -> str:
    if key and is_sensitive(key) and not _REFERENCE.fullmatch(value):
        return HIDDEN
    return _USER_INFO.sub("", value) if "@" in value else value


# A word of a line as a shell reads it, quotes and all; what is not closed goes to the end.
_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*(?:'|$)|"(?:\\.|[^"\\])*(?:"|$))+|\\""")


def scrubbed_line(line: str) -> str:
    """A typed command without the values of sensitive keys and options: `-s db.password=…`, `--token …`."""
    hidden = False

    def shown(match: re.Match[str]) -> str:
        nonlocal hidden
        word = re.sub(r"""['"\\]""", "", match.group())
        if hidden:
            hidden = False
            return HIDDEN
        key, equals, value = word.partition("=")
        if not is_sensitive(key):
            return _USER_INFO.sub("", match.group())
        if equals:
            return match.group() if _REFERENCE.fullmatch(value) else f"{key}={HIDDEN}"
        hidden = key.startswith("--")
        return match.group()

    return _WORD.sub(shown, line)


def without_user(url: str) -> str:
    """A URL as it may be shown: without user and password."""
    if "@" not in url:
        return url
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

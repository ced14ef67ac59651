"""Removal of secrets from text: values of sensitive config keys, and user information in URLs."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

HIDDEN = "[hidden]"
_SENSITIVE = re.compile(
    r"password|passwd|passphrase|secret|token|credential|jaas|(?:private|keystore|api|access|account|auth)[._-]?key"
    r"|basic\.auth\.user\.info|authorization",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"\$\{[^}]*\}\s*|\*+|")  # a reference to a provider, or masked
_USER_INFO = re.compile(r"(?<=://)[^/\s@]+@")


def is_sensitive(key: str) -> bool:
    """Whether the values of a config key are secret, by its name."""
    return _SENSITIVE.search(key) is not None


def scrubbed(value: Any, key: str = "", passwords: Collection[str] = ()) -> Any:
    """The JSON value with sensitive values hidden; references such as `${file:…}` are kept. `passwords` are the keys
    of type PASSWORD."""
    if isinstance(value, Mapping):
        return {name: scrubbed(part, str(name), passwords) for name, part in value.items()} | _pair(value)
    if isinstance(value, list | tuple):
        return [scrubbed(part, key, passwords) for part in value]
    if isinstance(value, str):
        return HIDDEN if key in passwords and not _REFERENCE.fullmatch(value) else _text(value, key)
    is_secret = bool(key) and (key in passwords or is_sensitive(key))
    return HIDDEN if value is not None and is_secret and not isinstance(value, bool) else value


def _pair(value: Mapping[Any, Any]) -> dict[str, Any]:
    """Hides the value in `{"name": "x.password", "value": "…"}`, the form of validation responses."""
    name = value.get("name")
    if isinstance(name, str) and is_sensitive(name) and isinstance(value.get("value"), str):
        return {"value": _text(value["value"], name)}
    return {}


def _text(value: str, key: str) -> str:
    if key and is_sensitive(key) and not _REFERENCE.fullmatch(value):
        return HIDDEN
    return _USER_INFO.sub("", value) if "@" in value else value


# A word as a shell reads it, including quotes; an open quote extends to the end.
_WORD = re.compile(r"""(?:[^\s'"\\]|\\.|'[^']*(?:'|$)|"(?:\\.|[^"\\])*(?:"|$))+|\\""")


# The options whose values are KEY=VALUE, where the value of any key may be secret.
_SETTING = re.compile(r"-s|--(?:set|header|client-config)")
_ATTACHED = re.compile(r"-s=?|--(?:set|header|client-config)=")  # with its value in the same word


# Keys that Connect and Kafka's clients define, so that their names tell whether their values are secret.
_OF_CONNECT = re.compile(
    r"connector\.class|tasks\.max|topics(\.regex)?|(key|value|header)\.converter|transforms|predicates"
    r"|errors\..+|(consumer|producer|admin)\.override\..+|headrace\..+"
)


def scrubbed_line(line: str, settings: bool = False) -> str:
    """A typed command with the values of sensitive keys and options hidden: `-s db.password=…`, `--token …`. With
    `settings`, the values of all other keys that it sets are hidden, too, except those of Connect and Kafka's clients:
    plugins may define any key as PASSWORD."""
    hidden = sets = False

    def shown(match: re.Match[str]) -> str:
        nonlocal hidden, sets
        word = re.sub(r"""['"\\]""", "", match.group())
        if hidden:
            hidden = False
            return HIDDEN
        attached = _ATTACHED.match(word) if settings and not sets else None
        option = attached.group() if attached else ""
        key, equals, value = word.removeprefix(option).partition("=")
        is_setting = sets or attached is not None
        sets = settings and not sets and _SETTING.fullmatch(word) is not None
        if not (is_setting and equals and not _OF_CONNECT.fullmatch(key)) and not is_sensitive(key):
            return _USER_INFO.sub("", match.group())
        if equals:
            return match.group() if _REFERENCE.fullmatch(value) else f"{option}{key}={HIDDEN}"
        hidden = key.startswith("--")
        return match.group()

    return _WORD.sub(shown, line)


def without_user(url: str) -> str:
    """The URL without user and password."""
    if "@" not in url:
        return url
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

"""Passwords and tokens within URLs: found, and hidden from text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote, unquote_plus

from runtime.config.secret_names import HIDDEN, may_be_password

_MAX_LENGTH = 16_384
"""Characters of a text that are searched, which bounds the time that a hostile text takes."""

_USER_INFO = re.compile(r"://[^:/?#\s@]*:([^/?#\s]*)@")
_USER_ONLY = re.compile(r"\bhttps?://([^:/?#\s@]+)@", re.IGNORECASE)
"""A token in the place of a user."""

_DATABASE = re.compile(r"(?<!jdbc:)\b(?!https?:)[a-z][\w+.-]{0,30}://[^:/?#\s@]*:([^@\s]{0,256})@", re.IGNORECASE)
"""Drivers read everything up to the @ as the password, slashes included."""

_ORACLE = re.compile(r"\bjdbc:oracle:\w{1,20}:[^/@\s]{0,256}/([^@\s]{0,256})@", re.IGNORECASE)
_PARAMETER = re.compile(r"[?&;]([^=?&;#\s]+)=(\{[^}]{0,256}\}|[^&;#\s]*)")
_SHORT_NAMES = frozenset({"pass", "pwd", "sig", "sas"})
_VARIABLE = re.compile(r"(?:\$\{[^}]*\})+\Z")


def secrets_in_url(text: str) -> set[str]:
    """The passwords and tokens in the URLs of a text, as they are and decoded; variables are not secret."""
    secrets = {text[start:end] for start, end in _spans(text)}
    return secrets | {decode(secret) for secret in secrets for decode in (unquote, unquote_plus)}


def without_url_secrets(text: str) -> str:
    """The text with passwords and tokens of URLs hidden."""
    spans = sorted(_spans(text))
    pieces, at = [], 0
    for start, end in spans:
        if start >= at:
            pieces += [text[at:start], HIDDEN]
        at = max(at, end)
    return "".join([*pieces, text[at:]])


def _spans(text: str) -> Iterator[tuple[int, int]]:
    if "://" not in text and not text.startswith("jdbc:"):
        return
    for pattern in (_USER_INFO, _USER_ONLY, _DATABASE, _ORACLE):
        yield from (match.span(1) for match in pattern.finditer(text, 0, _MAX_LENGTH) if _is_literal(match[1]))
    for match in _PARAMETER.finditer(text, 0, _MAX_LENGTH):
        name = unquote_plus(match[1])
        if (may_be_password(name) or name.lower() in _SHORT_NAMES) and _is_literal(match[2]):
            yield match.span(2)


def _is_literal(secret: str) -> bool:
    return secret != "" and _VARIABLE.match(secret) is None

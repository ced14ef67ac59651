"""The worker's logins at the brokers, whose passwords and certificates may change while it runs.

Settings of clients name their login and contain its credentials at the time when they were made. Whoever creates a
client from them takes the current credentials instead. In a running client librdkafka can replace a password, but not a
certificate: certificates() tells when another client is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LOGIN = "headrace.login"
"""Key among librdkafka's settings: which of LOGINS has their credentials. A connector's own credentials have none."""

LOGINS = ("worker.", "producer.", "consumer.", "admin.")
"""The worker's own login, and those of its connectors' clients by kind."""

Credentials = Mapping[str, Any]

_PREFIXES = ("sasl.", "ssl.", "headrace.")
_PASSWORD = ("sasl.username", "sasl.password")
_CERTIFICATES = ("ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem")

_renewed: dict[str, Credentials] = {}


def credentials(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a client's settings that authenticate it and its brokers."""
    return {key: value for key, value in settings.items() if key.startswith(_PREFIXES) and key != LOGIN}


def renew(logins: Mapping[str, Credentials]) -> None:
    """From now on these logins have these credentials. Thread-safe."""
    _renewed.update(logins)


def current(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """The settings with the current credentials of their login."""
    renewed = _renewed.get(settings.get(LOGIN, ""))
    return settings if renewed is None else {**settings, **renewed}


def password(settings: Mapping[str, Any]) -> tuple[str, str] | None:
    """The current user and password; None for other kinds of credentials."""
    now = current(settings)
    user, word = (now.get(key) for key in _PASSWORD)
    return None if user is None or word is None else (user, word)


def certificates(settings: Mapping[str, Any]) -> tuple[str | None, ...]:
    """The current certificates with their key. A client that was created with others has to be replaced."""
    now = current(settings)
    return tuple(now.get(key) for key in _CERTIFICATES)

"""The configuration keys that HttpSink and HttpSource share, and their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from runtime.api.config import validators
from runtime.api.config.definition import ConfigKey, ConfigType, ConfigValue, Importance, Width, grouped
from runtime.api.config.types import Password
from runtime.api.errors import ConfigError
from runtime.config.properties import with_prefix
from runtime.config.url_secrets import secrets_in_url

URL = "http.url"
HEADER_PREFIX = "http.header."
AUTH = "http.auth.type"
AUTH_TYPES = ("none", "basic", "bearer", "api-key", "oauth2")

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "basic": ("http.auth.username", "http.auth.password"),
    "bearer": ("http.auth.token",),
    "api-key": ("http.auth.api.key", "http.auth.api.key.name", "http.auth.api.key.in"),
    "oauth2": (
        "http.oauth2.token.url",
        "http.oauth2.client.id",
        "http.oauth2.client.secret",
        "http.oauth2.scope",
        "http.oauth2.client.auth",
    ),
}
_OPTIONAL = {"http.oauth2.scope"}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_PLAIN_HEADERS = ("accept", "content-", "user-agent")
"""Beginnings of the names of headers whose values are not secret."""
_NOT_IN_HEADERS = {"authorization", "host", "content-length", "transfer-encoding", "cookie"}


class _VisibleWith:
    """Shows a key only with the type of authentication that uses it."""

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return list(_CHOICES.get(name, ()))

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return name in _NEEDED.get(parsed.get(AUTH) or "none", ())


_CHOICES = {"http.auth.api.key.in": ("header", "query"), "http.oauth2.client.auth": ("header", "body")}


class _Choices:
    """Recommends the values of a key."""

    def __init__(self, *values: str) -> None:
        self._values = list(values)

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return self._values

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return True


def choice_key(name: str, values: tuple[str, ...], default: str, doc: str) -> ConfigKey:
    """A key with a fixed set of values."""
    return ConfigKey(name, ConfigType.STRING, default, Importance.MEDIUM, doc, validators.one_of(*values),
                     width=Width.SHORT, display_name=title(name), recommender=_Choices(*values))  # fmt: skip


def number_key(name: str, default: int, lowest: int, doc: str) -> ConfigKey:
    """A whole number."""
    return ConfigKey(name, ConfigType.INT, default, Importance.LOW, doc, validators.at_least(lowest),
                     width=Width.SHORT, display_name=title(name))  # fmt: skip


def text_key(name: str, doc: str, check: Callable[[str, Any], None] | None = None) -> ConfigKey:
    """An optional text."""
    return ConfigKey(name, ConfigType.STRING, None, Importance.MEDIUM, doc, check and validators.optional(check),
                     width=Width.MEDIUM, display_name=title(name))  # fmt: skip


def title(name: str) -> str:
    """The display name of a key."""
    return name.removeprefix("http.").replace(".", " ").capitalize()


def _auth_key(name: str, kind: ConfigType, default: Any, doc: str) -> ConfigKey:
    validator = validators.one_of(*_CHOICES[name]) if name in _CHOICES else None
    return ConfigKey(name, kind, default, Importance.MEDIUM, doc, validator, width=Width.MEDIUM,
                     display_name=title(name), recommender=_VisibleWith())  # fmt: skip


def connection_keys() -> tuple[ConfigKey, ...]:
    """Authentication, TLS, timeouts and retries."""
    text, secret = ConfigType.STRING, ConfigType.PASSWORD
    return (
        *grouped("Authentication", 1,
            ConfigKey(AUTH, text, "none", Importance.HIGH,
                 "How requests are authenticated: " + ", ".join(AUTH_TYPES) + ". Credentials are sent only to the "
                 "scheme, host and port of `http.url`, also after redirects.",
                 validators.one_of(*AUTH_TYPES), width=Width.SHORT, display_name=title(AUTH),
                 dependents=tuple(name for names in _NEEDED.values() for name in names),
                 recommender=_Choices(*AUTH_TYPES)),
            _auth_key("http.auth.username", text, None, "User name for basic authentication."),
            _auth_key("http.auth.password", secret, None, "Password for basic authentication."),
            _auth_key("http.auth.token", secret, None, "Bearer token."),
            _auth_key("http.auth.api.key", secret, None, "API key."),
            _auth_key("http.auth.api.key.name", text, "X-API-Key", "Header or query parameter of the API key."),
            _auth_key("http.auth.api.key.in", text, "header", "Where the API key is sent: header or query."),
            _auth_key("http.oauth2.token.url", text, None, "URL that issues tokens for client credentials "
                 "(OAuth 2.0)."),
            _auth_key("http.oauth2.client.id", text, None, "Client id for the token request."),
            _auth_key("http.oauth2.client.secret", secret, None, "Client secret for the token request."),
            _auth_key("http.oauth2.scope", text, None, "Scope for the token request."),
            _auth_key("http.oauth2.client.auth", text, "header", "Where the client secret is sent: header or body."),
        ),
        *grouped("TLS", 1,
            text_key("http.ssl.ca.file", "PEM file of the certificate authorities to trust.", _readable),
            text_key("http.ssl.certificate.file", "PEM file of the client certificate.", _readable),
            text_key("http.ssl.key.file", "PEM file of the client's key, if it is separate.", _readable),
            ConfigKey("http.ssl.key.password", secret, None, Importance.MEDIUM, "Password of the client's key.",
                 width=Width.MEDIUM, display_name="Ssl key password"),
            ConfigKey("http.ssl.verify", ConfigType.BOOLEAN, True, Importance.LOW, "Whether the server's certificate "
                 "is verified. Only for tests: without it anyone may read the requests.", width=Width.SHORT,
                 display_name="Ssl verify"),
        ),
        *grouped("Requests", 10,
            number_key("http.connect.timeout.ms", 10_000, 1, "Time limit for connecting."),
            number_key("http.request.timeout.ms", 30_000, 1, "Time limit between two parts of the answer."),
            number_key("http.retries", 10, -1, "How often a request is repeated after an error of the network, 408, "
                 "425, 429, 5xx, or 403 of a rate limit; -1 for no limit."),
            number_key("http.retry.backoff.ms", 500, 1, "Delay before the first repetition, doubled each time. A "
                 "longer Retry-After or rate limit of the endpoint is respected."),
            number_key("http.retry.backoff.max.ms", 60_000, 1, "Longest delay between repetitions."),
        ),
    )  # fmt: skip


def _readable(name: str, value: Any) -> None:
    if not Path(value).is_file():
        raise ConfigError(f"Invalid value {value} for configuration {name}: the file does not exist")


def check_url(name: str, value: Any) -> None:
    """An absolute http or https URL without credentials, whose host is not a placeholder."""
    try:
        parts = urlsplit(value)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and "$" not in parts.netloc
        valid = valid and (parts.port is None or parts.port > 0)
    except (ValueError, TypeError, AttributeError):
        valid = False
    if not valid:
        raise ConfigError(f"Invalid value for configuration {name}: must be a URL such as https://example.com/path")
    if "@" in parts.netloc:
        raise ConfigError(f"Invalid value for configuration {name}: set credentials with {AUTH}, not in the URL")


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """How to reach an endpoint. `settings` has the typed values of connection_keys(); `urls` are all URLs of the
    configuration, which may have secrets."""

    url: str
    settings: Mapping[str, Any]
    headers: Mapping[str, str]
    urls: tuple[str, ...]

    @classmethod
    def of(cls, settings: Mapping[str, Any], config: Mapping[str, str], url: str | None = None) -> EndpointSettings:
        """From parsed settings and the configuration with its `http.header.` keys; `url` instead of `http.url`."""
        urls = tuple(value for key, value in config.items() if key.startswith("http.") and key.endswith(".url"))
        return cls(url or settings[URL], settings, with_prefix(config, HEADER_PREFIX), urls)

    @property
    def secrets(self) -> list[str]:
        """The values that no message may contain. They are removed before a message is cut, since the worker does not
        recognize a secret of which only the beginning is left."""
        passwords = [value.value for value in self.settings.values() if isinstance(value, Password) and value.value]
        headers = [value for name, value in self.headers.items() if not name.lower().startswith(_PLAIN_HEADERS)]
        return [*passwords, *headers, *(secret for url in self.urls for secret in secrets_in_url(url))]


def add_conflicts(values: list[ConfigValue], config: Mapping[str, str]) -> None:
    """Adds errors of connection keys that depend on each other, and of headers."""
    by_name = {value.name: value for value in values}
    kind = by_name[AUTH].value if not by_name[AUTH].errors else "none"
    for name in _NEEDED.get(kind, ()):
        value = by_name[name]
        if not value.errors and name not in _OPTIONAL and not (getattr(value.value, "value", value.value)):
            value.errors.append(f"{name} is required with {AUTH}={kind}")
    token_url = by_name["http.oauth2.token.url"]
    if kind == "oauth2" and token_url.value and not token_url.errors:
        _add_error(token_url, lambda: check_url(token_url.name, token_url.value))
    for header, text in with_prefix(config, HEADER_PREFIX).items():
        _add_error(by_name[URL], lambda header=header, text=text: _check_header(header, text))  # type: ignore[misc]  # mypy does not infer the type of a lambda with defaults
    if by_name["http.ssl.key.file"].value and not by_name["http.ssl.certificate.file"].value:
        by_name["http.ssl.key.file"].errors.append("http.ssl.key.file needs http.ssl.certificate.file")


def _add_error(value: ConfigValue, check: Callable[[], None]) -> None:
    try:
        check()
    except ConfigError as error:
        value.errors.append(str(error))


def _check_header(name: str, text: str) -> None:
    key = HEADER_PREFIX + name
    if not _HEADER_NAME.match(name):
        raise ConfigError(f"Invalid configuration {key}: not the name of a header")
    if name.lower() in _NOT_IN_HEADERS:
        raise ConfigError(f"Invalid configuration {key}: use {AUTH} for credentials; the other headers are set by HTTP")
    if not text.isascii() or not text.isprintable():
        raise ConfigError(f"Invalid value for configuration {key}: a header consists of printable ASCII characters")


def required_settings(values: list[ConfigValue]) -> dict[str, Any]:
    """The typed values of a valid configuration; ConfigError with the first error otherwise."""
    for value in values:
        if value.errors:
            raise ConfigError(value.errors[0])
    return {value.name: value.value for value in values}

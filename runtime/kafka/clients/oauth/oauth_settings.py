"""The properties and JAAS options of OAUTHBEARER, as one text that travels with librdkafka's settings."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

from runtime.api.config.types import ConfigType, java_trim, parse
from runtime.api.errors import ConfigError
from runtime.config.jaas.entries import JaasError, login_module
from runtime.config.jaas.login_file import system_properties
from runtime.kafka.errors import ClientConfigError

OAUTH = "headrace.oauth"
"""The key of OAuthSettings.text() among librdkafka's settings, which native_settings() replaces."""

PREFIX = "sasl.oauthbearer."
URL, ASSERTION = f"{PREFIX}token.endpoint.url", f"{PREFIX}assertion."
_RETRIEVER, _VALIDATOR = f"{PREFIX}jwt.retriever.class", f"{PREFIX}jwt.validator.class"
_KAFKA = "org.apache.kafka.common.security.oauthbearer."
_JWT_BEARER = f"{_KAFKA}JwtBearerJwtRetriever"
_CLASSES = {
    _RETRIEVER: tuple(f"{_KAFKA}{n}JwtRetriever" for n in ("Default", "ClientCredentials", "JwtBearer", "File")),
    _VALIDATOR: tuple(f"{_KAFKA}{n}JwtValidator" for n in ("Default", "Client")),
}
FILES = tuple(f"{ASSERTION}{name}" for name in ("file", "private.key.file", "template.file"))
_DEFAULTS: Mapping[str, tuple[ConfigType, Any]] = {
    URL: (ConfigType.STRING, None),
    f"{PREFIX}scope": (ConfigType.STRING, None),
    f"{PREFIX}client.credentials.client.id": (ConfigType.STRING, None),
    f"{PREFIX}client.credentials.client.secret": (ConfigType.STRING, None),
    f"{PREFIX}header.urlencode": (ConfigType.BOOLEAN, False),
    f"{PREFIX}sub.claim.name": (ConfigType.STRING, "sub"),
    f"{ASSERTION}algorithm": (ConfigType.STRING, "RS256"),
    f"{ASSERTION}claim.aud": (ConfigType.STRING, None),
    f"{ASSERTION}claim.exp.seconds": (ConfigType.INT, 300),
    f"{ASSERTION}claim.iss": (ConfigType.STRING, None),
    f"{ASSERTION}claim.jti.include": (ConfigType.BOOLEAN, False),
    f"{ASSERTION}claim.nbf.seconds": (ConfigType.INT, 60),
    f"{ASSERTION}claim.sub": (ConfigType.STRING, None),
    f"{ASSERTION}private.key.passphrase": (ConfigType.STRING, None),
    **dict.fromkeys(FILES, (ConfigType.STRING, None)),
    "sasl.login.connect.timeout.ms": (ConfigType.INT, None),
    "sasl.login.read.timeout.ms": (ConfigType.INT, None),
    "sasl.login.refresh.buffer.seconds": (ConfigType.INT, 300),
    "sasl.login.refresh.min.period.seconds": (ConfigType.INT, 60),
    "sasl.login.refresh.window.factor": (ConfigType.DOUBLE, 0.8),
    "sasl.login.retry.backoff.max.ms": (ConfigType.LONG, 10_000),
    "sasl.login.retry.backoff.ms": (ConfigType.LONG, 100),
}
"""Types and defaults as in Kafka. The others are read by brokers, or describe classes."""

HONOURED = frozenset(_DEFAULTS)
CLASSES = frozenset(_CLASSES)
OF_BROKERS = frozenset(
    f"{PREFIX}{name}"
    for name in (
        "allow.unverified.audience", "allow.unverified.issuer",
        "clock.skew.seconds", "expected.audience", "expected.issuer", "jwks.endpoint.refresh.ms",
        "jwks.endpoint.retry.backoff.max.ms", "jwks.endpoint.retry.backoff.ms", "jwks.endpoint.url",
        "scope.claim.name",
    )
)  # fmt: skip
"""With these a broker verifies tokens; clients do not."""

_OPTIONS = {"clientId": "client.credentials.client.id", "clientSecret": "client.credentials.client.secret",
            "scope": "scope"}  # fmt: skip
_EXTENSION, _EXTENSION_NAME = "extension_", re.compile(r"[A-Za-z]+")
_ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"
_ALLOWED_FILES = "org.apache.kafka.sasl.oauthbearer.allowed.files"


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """`values`: by property. `tls`: the options `ssl.*` of the login module, for the token endpoint. `msk`: if the
    tokens are those of Amazon MSK, what its signer needs."""

    values: Mapping[str, Any] = field(repr=False)
    extensions: Mapping[str, str]
    tls: Mapping[str, str] = field(repr=False)
    jwt_bearer: bool
    msk: Mapping[str, str] | None = None

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def text(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def of(cls, text: str) -> OAuthSettings:
        return cls(**json.loads(text))


def oauth_settings(
    java: Mapping[str, str], origin: str, options: Mapping[str, str], msk: Mapping[str, str] | None = None
) -> OAuthSettings:
    """The settings of a client. `options`: of the login module that `origin` names; they are those of Kafka 3, which
    its properties replace. Raises ClientConfigError."""
    for key, classes in _CLASSES.items():
        if java.get(key) and java_trim(java[key]) not in classes:
            raise ClientConfigError(f"{key}={java[key]} is not supported: use one of {', '.join(classes)}")
    given = {f"{PREFIX}{theirs}": options[ours] for ours, theirs in _OPTIONS.items() if ours in options}
    given |= {key: java[key] for key in _DEFAULTS if key in java}
    values = {key: _value(key, given.get(key), *kind) for key, kind in _DEFAULTS.items()}
    extensions = {k.removeprefix(_EXTENSION): v for k, v in options.items() if k.startswith(_EXTENSION)}
    tls = {k: v for k, v in options.items() if k.startswith("ssl.")}
    settings = OAuthSettings(values, extensions, tls, java_trim(java.get(_RETRIEVER, "")) == _JWT_BEARER, msk)
    if msk is not None:
        return settings
    if problem := next(_problems(settings, origin), None):
        raise ClientConfigError(problem)
    return settings


def _value(key: str, text: str | None, type_: ConfigType, default: Any) -> Any:
    if text is None:
        return default
    try:
        return parse(key, text, type_)
    except ConfigError as e:
        raise ClientConfigError(str(e)) from None


def _problems(settings: OAuthSettings, origin: str) -> Iterator[str]:
    if not (url := settings[URL]):
        yield f"sasl.mechanism=OAUTHBEARER needs {URL}"
    elif urlsplit(url).scheme not in ("http", "https", "file"):
        yield f"{URL}={url} must begin with https:, http: or file:"
    elif settings.jwt_bearer:
        files = [settings[key] for key in FILES[:2]]
        if bool(files[0]) == bool(files[1]):
            yield f"{_RETRIEVER}={_JWT_BEARER} needs either {FILES[0]} or {FILES[1]}"
    elif not url.startswith("file:"):
        names = {name: f"{PREFIX}{theirs}" for name, theirs in _OPTIONS.items() if name != "scope"}
        for name, key in names.items():
            if not settings[key]:
                yield f"sasl.mechanism=OAUTHBEARER needs {key}, or {name} in {origin}"
    if settings[f"{ASSERTION}algorithm"] not in ("RS256", "ES256"):
        yield f"{ASSERTION}algorithm={settings[f'{ASSERTION}algorithm']} is not supported: use RS256 or ES256"
    for name in settings.extensions:
        if name == "auth" or not _EXTENSION_NAME.fullmatch(name):
            yield f"{origin} has the invalid extension {_EXTENSION}{name}: use letters, and not auth"


def check_allowed(settings: OAuthSettings, worker: Mapping[str, str]) -> None:
    """ClientConfigError for a URL or file that a connector names and that is not allowed: the worker would send
    requests there, or send the file's content to the connector's brokers. Allowed are those of the worker's own
    properties, and, as in Kafka, those of two system properties in the environment's KAFKA_OPTS."""
    if settings.msk is not None:
        _check_identity(settings.msk, worker)
        return
    system = system_properties(os.environ.get("KAFKA_OPTS", ""))
    for keys, option in (((URL,), _ALLOWED_URLS), (FILES, _ALLOWED_FILES)):
        allowed = {part.strip() for part in system.get(option, "").split(",")}
        for key in keys:
            own = {java_trim(v) for k, v in worker.items() if k == key or k.endswith(f".{key}")}
            if settings[key] and settings[key] not in allowed | own:
                raise ClientConfigError(
                    f"{key}={settings[key]} is not allowed: the worker's properties do not have it, and "
                    f"-D{option} in KAFKA_OPTS does not list it"
                )


def _check_identity(msk: Mapping[str, str], worker: Mapping[str, str]) -> None:
    """A token of an identity of AWS is sent to the connector's brokers."""
    identity = {name: value for name, value in msk.items() if name != "region"}
    own = (_aws_options(text) for key, text in worker.items() if key.endswith("sasl.jaas.config"))
    if not any(options is not None and identity == options for options in own):
        named = ", ".join(f"{name}={value}" for name, value in identity.items()) or "the default"
        raise ClientConfigError(
            f"the identity of AWS ({named}) is not allowed: no sasl.jaas.config in the worker's properties has it"
        )


def _aws_options(text: str) -> dict[str, str] | None:
    """Those options of a login module that select an identity; None for other login modules."""
    try:
        module = login_module(text)
    except JaasError:
        return None
    if not module.name.endswith(".IAMLoginModule"):
        return None
    names = ("awsProfileName", "awsRoleArn", "awsRoleSessionName")
    return {name: module.options[name] for name in names if module.options.get(name)}

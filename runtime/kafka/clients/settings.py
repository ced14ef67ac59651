"""Translates Java client properties to librdkafka settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from runtime.config.jaas.login_file import KEY
from runtime.config.properties import with_prefix
from runtime.kafka.clients import java_classes, security
from runtime.kafka.clients.logins import LOGIN, LOGINS, Credentials, credentials, current
from runtime.kafka.clients.names import BUILT_IN, COMMON, CONSUMER, PRODUCER, UNUSED_PREFIXES, Translate
from runtime.kafka.clients.oauth.oauth_settings import OAUTH, OAuthSettings, check_allowed
from runtime.kafka.clients.oauth.tokens import provider
from runtime.kafka.clients.security import client_context
from runtime.kafka.errors import ClientConfigError

PRODUCER_FIXED: Mapping[str, Any] = {
    "partitioner": "murmur2_random",  # as in Java: keyed records stay in their partitions
    "acks": "all",
    "enable.idempotence": True,
    "message.timeout.ms": 0,  # as in Connect, no record expires; librdkafka's default is five minutes
    "linger.ms": 5,
    "message.max.bytes": 1_048_576,  # Kafka's default of max.request.size; librdkafka's is less
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 65_536,
    "reconnect.backoff.max.ms": 1_000,
}
CONSUMER_FIXED: Mapping[str, Any] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_uncommitted",
    "session.timeout.ms": 45_000,
    "allow.auto.create.topics": True,
    "reconnect.backoff.max.ms": 1_000,
}
ADMIN_FIXED: Mapping[str, Any] = {"reconnect.backoff.max.ms": 1_000}

_KINDS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Translate]]] = {
    "producer": (PRODUCER_FIXED, {**COMMON, **PRODUCER}),
    "consumer": (CONSUMER_FIXED, {**COMMON, **CONSUMER}),
    "admin": (ADMIN_FIXED, COMMON),
}


OWN = LOGINS[0]

_REQUEST_SIZE = "max.request.size"


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """librdkafka settings, and a warning for each Java property that was not translated."""

    settings: dict[str, Any]
    warnings: tuple[str, ...] = field(default=())


def client_config(
    originals: Mapping[str, str],
    kind: str,
    connector_config: Mapping[str, str] | None = None,
    client_id: str = "",
) -> ClientConfig:
    """Settings of a client; `kind` is producer, consumer or admin. ClientConfigError names an invalid value.

    A connector's client gets `bootstrap.servers` of the worker's file, then its `<kind>.` properties, then the
    connector's `<kind>.override.` ones. Its admin client gets the file's top-level properties before these. Without a
    connector's config it is a client of the worker itself, which gets the file's top-level properties (Connect's
    documentation, "Running Kafka Connect")."""
    if connector_config is None:
        config = _translated(_reaching(originals), kind, client_id, originals)
        return replace(config, settings=_with_login(config.settings, OWN))
    config = _translated(_of_connector(originals, kind, connector_config), kind, client_id, originals)
    if OAUTH in config.settings:
        check_allowed(OAuthSettings.of(config.settings[OAUTH]), originals)
    return replace(config, settings=_with_login(config.settings, _login(kind, connector_config)))


def reaching_config(originals: Mapping[str, str], kind: str, connector_config: Mapping[str, str]) -> dict[str, Any]:
    """Those settings of a connector's client by which it reaches the cluster: addresses, security, timeouts."""
    reaching = _reaching(_of_connector(originals, kind, connector_config))
    settings = _translated(reaching, "admin", "", originals).settings
    if OAUTH in settings:
        check_allowed(OAuthSettings.of(settings[OAUTH]), originals)
    return _with_login(settings, _login(kind, connector_config))


def logins(originals: Mapping[str, str]) -> dict[str, Credentials]:
    """The credentials of each login (LOGINS) by the worker's properties. Raises ClientConfigError."""
    kinds = {kind: _of_connector(originals, kind, {}) for kind in _KINDS}
    java = {OWN: _reaching(originals), **{f"{kind}.": of_kind for kind, of_kind in kinds.items()}}
    return {login: credentials(security.translate(of_login)[0]) for login, of_login in java.items()}


def own_logins(originals: Mapping[str, str], connector_config: Mapping[str, str]) -> dict[str, Credentials]:
    """The credentials that a connector overrides, by kind of client. Raises ClientConfigError."""
    kinds = [kind for kind in _KINDS if not _login(kind, connector_config)]
    java = {kind: _of_connector(originals, kind, connector_config) for kind in kinds}
    return {kind: credentials(security.translate(of_kind)[0]) for kind, of_kind in java.items()}


def _login(kind: str, connector_config: Mapping[str, str]) -> str:
    """The login of a connector's client; empty if the connector has its own."""
    overridden = with_prefix(connector_config, f"{kind}.override.")
    return "" if any(key.startswith(security.PREFIXES) for key in overridden) else f"{kind}."


def _with_login(settings: dict[str, Any], login: str) -> dict[str, Any]:
    """Settings without credentials have no login."""
    return dict(current({**settings, LOGIN: login})) if login and credentials(settings) else settings


def group_config(originals: Mapping[str, str], connector_config: Mapping[str, str]) -> dict[str, Any]:
    """Settings by which requests about a sink's consumer group reach its cluster.

    As in Connect those of the connector's admin client, but if only its consumer is on another cluster, those of the
    consumer, which commits there."""
    admin, consumer = (
        _of_connector(originals, kind, connector_config)["bootstrap.servers"] for kind in ("admin", "consumer")
    )
    elsewhere = admin != consumer and "admin.override.bootstrap.servers" not in connector_config
    return reaching_config(originals, "consumer" if elsewhere else "admin", connector_config)


def kafka_python_config(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings for kafka-python to reach the same cluster, from librdkafka's settings, with current credentials."""
    settings = current(settings)
    servers = [s.strip() for s in str(settings["bootstrap.servers"]).split(",")]
    translated = {ours: settings[theirs] for theirs, ours in security.KAFKA_PYTHON.items() if theirs in settings}
    if str(settings.get("sasl.mechanism", "")).startswith("SCRAM-"):  # RFC 5802; kafka-python sends names as they are
        user = str(settings["sasl.username"]).replace("=", "=3D").replace(",", "=2C")
        translated["sasl_plain_username"] = user
    context = client_context(settings)
    if context is not None:
        translated["ssl_context"] = context
    if OAUTH in settings:
        translated["sasl_oauth_token_provider"] = provider(settings[OAUTH])
    return {"bootstrap_servers": servers, **translated}


def record_limit(originals: Mapping[str, str]) -> dict[str, Any]:
    """The setting for the size of records that the worker writes to its storage topics: its `max.request.size`, as in
    Connect, but at least the default, which the documents of its own topic need. ClientConfigError for an invalid
    value."""
    limit = PRODUCER_FIXED["message.max.bytes"]
    if (given := originals.get(_REQUEST_SIZE)) is not None:
        limit = max(limit, *_value(PRODUCER[_REQUEST_SIZE], _REQUEST_SIZE, given.strip()).values())
    return {"message.max.bytes": limit}


def _reaching(originals: Mapping[str, str]) -> dict[str, str]:
    """The properties by which clients reach the cluster."""
    reaching = {k: v for k, v in originals.items() if k in COMMON or k == KEY or k.startswith(security.PREFIXES)}
    reaching.setdefault("bootstrap.servers", "localhost:9092")
    return reaching


def _of_connector(originals: Mapping[str, str], kind: str, connector_config: Mapping[str, str]) -> dict[str, str]:
    """The admin client of a connector also gets the file's top-level properties, as in Connect."""
    java = {"bootstrap.servers": originals.get("bootstrap.servers", "localhost:9092")}
    java |= {k: v for k, v in originals.items() if k == KEY}  # one file for all clients, as in Java
    if kind == "admin":
        java |= _reaching(originals)
    java |= with_prefix(originals, f"{kind}.")
    return java | with_prefix(connector_config, f"{kind}.override.")


def _translated(java: Mapping[str, str], kind: str, client_id: str, worker: Mapping[str, str]) -> ClientConfig:
    fixed, names = _KINDS[kind]
    settings, warnings = dict(fixed), []
    if client_id:
        settings["client.id"] = client_id
    secured, left, notes = security.translate(java)
    warnings += notes
    for key, value in left.items():
        translate = names.get(key)
        if translate is not None:
            settings |= _value(translate, key, value.strip())
        elif not (key in BUILT_IN or key in java_classes.NAMES or key.startswith(("override.", *UNUSED_PREFIXES))):
            warnings.append(f"{kind} property {key} is not known to this worker's Kafka client; it has no effect")
    settings |= secured
    settings |= java_classes.record_settings(kind, left, java_classes.ignored_interceptors(worker))
    first = settings.get("reconnect.backoff.ms", 100)
    settings["reconnect.backoff.max.ms"] = max(settings["reconnect.backoff.max.ms"], first)
    if settings.get("group.protocol") == "consumer" and "session.timeout.ms" not in left:
        settings.pop("session.timeout.ms", None)  # decided by the broker (KIP-848), and rejected by the client
    if kind == "producer":
        _settle_idempotence(settings, "enable.idempotence" in left)
    if "session.timeout.ms" in settings and "max.poll.interval.ms" in settings:
        # Java's consumer accepts a session beyond the time for a poll, which ends its membership before
        settings["session.timeout.ms"] = min(settings["session.timeout.ms"], settings["max.poll.interval.ms"])
    return ClientConfig(settings, tuple(warnings))


def _value(translate: Translate, key: str, value: str) -> dict[str, Any]:
    try:
        return translate(key, value)
    except ValueError as e:
        raise ClientConfigError(f"Invalid value {value} for configuration {key}: {e}") from None


def _settle_idempotence(settings: dict[str, Any], explicit: bool) -> None:
    """As in Java: weaker acks, too many requests in flight or no retries disable idempotence, unless it is enabled
    explicitly."""
    weak = str(settings["acks"]) not in ("all", "-1") or int(settings.get("max.in.flight", 5)) > 5
    if (weak or settings.get("retries") == 0) and not explicit:
        settings["enable.idempotence"] = False

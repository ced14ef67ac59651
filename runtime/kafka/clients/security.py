"""Translates Java's security properties (key stores, login modules) to librdkafka settings."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping
from typing import Any

from runtime.api.config.types import java_trim
from runtime.config.jaas.login_file import KEY
from runtime.config.stores.cipher_suites import openssl_suites
from runtime.config.stores.key_stores import load_keys, own_keys, trusted
from runtime.config.stores.pem import Keys, StoreError, has_root
from runtime.kafka.clients.oauth import oauth_settings
from runtime.kafka.clients.sasl import CLASSES, LOGIN, sasl_settings
from runtime.kafka.errors import ClientConfigError


def client_context(settings: Mapping[str, Any]) -> ssl.SSLContext | None:
    """The TLS context for librdkafka's settings; None without TLS. Raises ClientConfigError."""
    if not _uses_tls(settings):
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.get("ssl.endpoint.identification.algorithm", "https") != "none"
    try:
        if certificates := settings.get("ssl.ca.pem"):
            context.load_verify_locations(cadata=certificates)
        else:
            context.load_default_certs()
        if chain := settings.get("ssl.certificate.pem"):
            load_keys(context, Keys(settings["ssl.key.pem"], chain))
        if suites := settings.get("ssl.cipher.suites"):
            context.set_ciphers(suites)
    except (OSError, ValueError) as e:  # ssl.SSLError is an OSError
        raise ClientConfigError(f"ssl: the stores of the Kafka clients cannot be used: {e}") from None
    return context


def _uses_tls(settings: Mapping[str, Any]) -> bool:
    return "SSL" in str(settings.get("security.protocol", "")).upper()


TRUST_STORE, KEY_STORE = "headrace.truststore", "headrace.keystore"
"""Keys among librdkafka's settings, for messages: the properties of the stores. native_settings() removes them."""

PREFIXES = ("security.protocol", "sasl.", "ssl.")

KAFKA_PYTHON: Mapping[str, str] = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
}
"""librdkafka's names → kafka-python's, without those of TLS (client_context)."""

STORES = frozenset({
    "ssl.key.password", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.location",
    "ssl.keystore.password", "ssl.keystore.type", "ssl.truststore.certificates", "ssl.truststore.location",
    "ssl.truststore.password", "ssl.truststore.type",
})  # fmt: skip
"""Properties of key and trust stores, which are read to PEM: librdkafka and Python read no store of Java's."""
BUILT_IN = frozenset({
    "ssl.keymanager.algorithm", "ssl.protocol", "ssl.provider",
    "ssl.secure.random.implementation", "ssl.trustmanager.algorithm",
})  # fmt: skip
_SUITES, _VERSIONS = "ssl.cipher.suites", "ssl.enabled.protocols"
_READ = {
    "security.protocol", "ssl.endpoint.identification.algorithm", _SUITES, _VERSIONS, KEY, *STORES, *BUILT_IN,
    *LOGIN, *CLASSES,
    *oauth_settings.HONOURED, *oauth_settings.CLASSES, *oauth_settings.OF_BROKERS,
}  # fmt: skip


def translate(java: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """librdkafka's settings, the properties that are not about security, and warnings for untranslated properties."""
    left = {k: v for k, v in java.items() if not k.startswith(PREFIXES) and k != KEY}
    warnings = [
        f"{key} has no equivalent in this worker's Kafka client; it has no effect"
        for key in java
        if key not in left and key not in _READ
    ]
    settings = {**_protocol(java), **_identification(java), **sasl_settings(java)}
    if _uses_tls(java):  # without TLS Java's clients do not read the stores, either
        settings |= {**_stores(java), **_suites(java)}
        warnings += _limits(java, settings)
    return settings, left, warnings


def _suites(java: Mapping[str, str]) -> dict[str, str]:
    try:
        suites = openssl_suites(java.get(_SUITES, ""))
    except ValueError as e:
        raise ClientConfigError(str(e)) from None
    return {_SUITES: suites} if suites else {}


def _limits(java: Mapping[str, str], settings: Mapping[str, Any]) -> Iterator[str]:
    """Limits of TLS that librdkafka lacks: it has TLS 1.2 and 1.3, the latter with all suites. ClientConfigError if
    neither version is allowed."""
    versions = {name for name in map(java_trim, java.get(_VERSIONS, "TLSv1.2,TLSv1.3").split(",")) if name}
    known = versions & {"TLSv1.2", "TLSv1.3"}
    if not known:
        raise ClientConfigError(f"{_VERSIONS}={java[_VERSIONS]} has neither TLSv1.2 nor TLSv1.3, the clients' versions")
    if len(known) == 1:
        yield f"Kafka clients use TLS 1.2 and 1.3, although {_VERSIONS}={java[_VERSIONS]}: let the brokers limit it"
    if java.get(_SUITES, "").strip() and _SUITES not in settings:
        yield f"Kafka clients use all suites, although {_SUITES} lists some of TLS 1.3: let the brokers limit them"


def _stores(java: Mapping[str, str]) -> dict[str, str]:
    try:
        certificates, keys = trusted(java), own_keys(java)
    except StoreError as e:
        raise ClientConfigError(str(e)) from None
    settings: dict[str, str] = {}
    if certificates:
        settings |= {"ssl.ca.pem": certificates, TRUST_STORE: _named(java, "ssl.truststore", "certificates")}
        if not has_root(certificates):  # Java trusts what is in the store; librdkafka needs the root
            raise ClientConfigError(
                f"{settings[TRUST_STORE]} contains only certificates that others have signed: add that of their root "
                "authority"
            )
    if keys:
        named = _named(java, "ssl.keystore", "certificate.chain")
        settings |= {"ssl.key.pem": keys.key, "ssl.certificate.pem": keys.chain, KEY_STORE: named}
    return settings


def _named(java: Mapping[str, str], which: str, inline: str) -> str:
    """The property of a store, with the file."""
    return f"{which}.{inline}" if java.get(f"{which}.{inline}") else f"{which}.location={java[f'{which}.location']}"


def _protocol(java: Mapping[str, str]) -> dict[str, str]:
    value = java.get("security.protocol")
    return {} if value is None else {"security.protocol": java_trim(value).upper()}


def _identification(java: Mapping[str, str]) -> dict[str, str]:
    value = java.get("ssl.endpoint.identification.algorithm")
    if value is None:
        return {}
    return {"ssl.endpoint.identification.algorithm": "https" if java_trim(value).lower() == "https" else "none"}

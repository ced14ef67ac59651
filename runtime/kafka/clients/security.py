"""Translates Java's security properties (key stores, login modules) to librdkafka settings."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Mapping
from typing import Any

from runtime.config.stores.key_stores import load_keys, own_keys, trusted
from runtime.config.stores.pem import Keys, StoreError, has_root
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
    except (OSError, ValueError) as e:  # ssl.SSLError is an OSError
        raise ClientConfigError(f"ssl: the stores of the Kafka clients cannot be used: {e}") from None
    return context


def _uses_tls(settings: Mapping[str, Any]) -> bool:
    return "SSL" in str(settings.get("security.protocol", "")).upper()


PREFIXES = ("security.protocol", "sasl.", "ssl.")

KAFKA_PYTHON: Mapping[str, str] = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
}
"""librdkafka's names → kafka-python's, without those of TLS (client_context)."""

_SAME = {
    "sasl.kerberos.kinit.cmd", "sasl.kerberos.service.name", "sasl.mechanism", "sasl.oauthbearer.scope",
    "sasl.oauthbearer.token.endpoint.url",
}  # fmt: skip
_BUILT_IN = {
    "ssl.enabled.protocols", "ssl.keymanager.algorithm", "ssl.protocol", "ssl.provider",
    "ssl.secure.random.implementation", "ssl.trustmanager.algorithm", "sasl.login.class",
}  # fmt: skip
STORES = frozenset({
    "ssl.key.password", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.location",
    "ssl.keystore.password", "ssl.keystore.type", "ssl.truststore.certificates", "ssl.truststore.location",
    "ssl.truststore.password", "ssl.truststore.type",
})  # fmt: skip
"""Properties of key and trust stores, which are read to PEM: librdkafka and Python read no store of Java's."""
_JAAS_OPTION = re.compile(r"""([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))""")


def translate(java: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """librdkafka's settings, the properties that are not about security, and warnings for untranslated properties."""
    settings: dict[str, Any] = {}
    warnings: list[str] = []
    left = {k: v for k, v in java.items() if not k.startswith(PREFIXES)}
    for key, value in java.items():
        if key in left or key in _BUILT_IN or key in STORES:
            continue
        if key in _SAME:
            settings[key] = value
        elif key in _SPECIAL:
            settings |= _SPECIAL[key](java, value, warnings)
        else:
            warnings.append(f"{key} has no equivalent in this worker's Kafka client; it has no effect")
    if _uses_tls(java):  # without TLS Java's clients do not read the stores, either
        settings |= _stores(java)
    return settings, left, warnings


def _stores(java: Mapping[str, str]) -> dict[str, str]:
    try:
        certificates, keys = trusted(java), own_keys(java)
    except StoreError as e:
        raise ClientConfigError(str(e)) from None
    if certificates and not has_root(certificates):  # Java trusts what is in the store; librdkafka needs the root
        named = next(key for key in ("ssl.truststore.certificates", "ssl.truststore.location") if java.get(key))
        file = f"={java[named]}" if named.endswith("location") else ""
        raise ClientConfigError(
            f"{named}{file} contains only certificates that others have signed: add that of their root authority"
        )
    presented = {"ssl.key.pem": keys.key, "ssl.certificate.pem": keys.chain} if keys else {}
    return {**presented, **({"ssl.ca.pem": certificates} if certificates else {})}


def _protocol(java: Mapping[str, str], value: str, warnings: list[str]) -> dict[str, Any]:
    return {"security.protocol": value.strip().upper()}


def _identification(java: Mapping[str, str], value: str, warnings: list[str]) -> dict[str, Any]:
    return {"ssl.endpoint.identification.algorithm": "https" if value.strip().lower() == "https" else "none"}


def _jaas(java: Mapping[str, str], value: str, warnings: list[str]) -> dict[str, Any]:
    options = {name: re.sub(r"\\(.)", r"\1", quoted) or bare for name, quoted, bare in _JAAS_OPTION.findall(value)}
    module = value.split(None, 1)[0].rpartition(".")[2] if value.strip() else ""
    for prefix, names in _LOGIN_MODULES.items():
        if module.startswith(prefix):
            translated = {theirs: options[ours] for ours, theirs in names.items() if ours in options}
            return {**translated, "sasl.oauthbearer.method": "oidc"} if prefix == "OAuthBearer" else translated
    warnings.append(
        f"sasl.jaas.config names the unsupported login module {module or '(none)'} and has no effect: use "
        "PlainLoginModule, ScramLoginModule, Krb5LoginModule or OAuthBearerLoginModule"
    )
    return {}


_LOGIN_MODULES: Mapping[str, Mapping[str, str]] = {
    "PlainLogin": {"username": "sasl.username", "password": "sasl.password"},
    "ScramLogin": {"username": "sasl.username", "password": "sasl.password"},
    "Krb5Login": {"principal": "sasl.kerberos.principal", "keyTab": "sasl.kerberos.keytab"},
    "OAuthBearer": {
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
    },
}

_SPECIAL: Mapping[str, Callable[[Mapping[str, str], str, list[str]], dict[str, Any]]] = {
    "security.protocol": _protocol,
    "sasl.jaas.config": _jaas,
    "ssl.endpoint.identification.algorithm": _identification,
}

"""Translates Java's security properties (key stores, login modules) to librdkafka settings."""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable, Mapping
from typing import Any

from runtime.config.key_stores import JKS, PEM, PKCS12, kind_of, load_pem, load_pkcs12, pkcs12_trust
from runtime.kafka.errors import ClientConfigError


def client_context(settings: Mapping[str, Any]) -> ssl.SSLContext | None:
    """The TLS context; None without TLS. ClientConfigError names the stores that cannot be used."""
    if "SSL" not in str(settings.get("security.protocol", "")):
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.get("ssl.endpoint.identification.algorithm", "https") != "none"
    try:
        _load_trust(context, settings)
        _load_keys(context, settings)
        if ciphers := settings.get("ssl.cipher.suites"):
            context.set_ciphers(ciphers)
    except (OSError, ValueError) as e:  # ssl.SSLError is an OSError
        raise ClientConfigError(f"ssl: the stores of the Kafka clients cannot be used: {e}") from None
    return context


def _load_trust(context: ssl.SSLContext, settings: Mapping[str, Any]) -> None:
    if pem := settings.get("ssl.ca.pem"):
        context.load_verify_locations(cadata=pem)
    elif location := settings.get("ssl.ca.location"):
        context.load_verify_locations(location)
    else:
        context.load_default_certs()


def _load_keys(context: ssl.SSLContext, settings: Mapping[str, Any]) -> None:
    password = settings.get("ssl.key.password")
    if chain := settings.get("ssl.certificate.pem"):
        load_pem(context, f"{settings.get('ssl.key.pem', '')}\n{chain}".encode(), password)
    elif location := settings.get("ssl.certificate.location"):
        context.load_cert_chain(location, settings.get("ssl.key.location"), password or "")
    elif location := settings.get("ssl.keystore.location"):
        load_pkcs12(context, location, settings.get("ssl.keystore.password"))


PREFIXES = ("security.protocol", "sasl.", "ssl.")

KAFKA_PYTHON: Mapping[str, str] = {
    "security.protocol": "security_protocol",
    "sasl.mechanism": "sasl_mechanism",
    "sasl.username": "sasl_plain_username",
    "sasl.password": "sasl_plain_password",
    "sasl.kerberos.service.name": "sasl_kerberos_service_name",
}
"""librdkafka's names → kafka-python's; TLS settings are in tls.py."""

_SAME = {
    "sasl.kerberos.service.name", "sasl.mechanism", "sasl.oauthbearer.scope", "sasl.oauthbearer.token.endpoint.url",
    "ssl.key.password",
}  # fmt: skip
_RENAMED = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "sasl.kerberos.kinit.cmd": "sasl.kerberos.kinit.cmd",
}
_BUILT_IN = {
    "ssl.enabled.protocols", "ssl.keymanager.algorithm", "ssl.keystore.password", "ssl.keystore.type",
    "ssl.protocol", "ssl.provider", "ssl.secure.random.implementation", "ssl.trustmanager.algorithm",
    "ssl.truststore.password", "ssl.truststore.type", "sasl.login.class",
}  # fmt: skip
_JAAS_OPTION = re.compile(r"""([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))""")


def translate(java: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str], list[str]]:
    """librdkafka's settings, the properties that are not about security, and warnings for untranslated properties."""
    settings: dict[str, Any] = {}
    warnings: list[str] = []
    left = {k: v for k, v in java.items() if not k.startswith(PREFIXES)}
    for key, value in java.items():
        if key in left or key in _BUILT_IN:
            continue
        if key in _SAME:
            settings[key] = value
        elif key in _RENAMED:
            settings[_RENAMED[key]] = value
        elif key in _SPECIAL:
            settings |= _SPECIAL[key](java, value, warnings)
        else:
            warnings.append(f"{key} has no equivalent in this worker's Kafka client; it has no effect")
    return settings, left, warnings


def _protocol(java: Mapping[str, str], value: str, warnings: list[str]) -> dict[str, Any]:
    return {"security.protocol": value.strip().upper()}


def _identification(java: Mapping[str, str], value: str, warnings: list[str]) -> dict[str, Any]:
    return {"ssl.endpoint.identification.algorithm": "https" if value.strip().lower() == "https" else "none"}


def _truststore(java: Mapping[str, str], value: str, warnings: list[str]) -> dict[str, Any]:
    kind = _kind(java.get("ssl.truststore.type", JKS), value)
    if kind == PEM:
        return {"ssl.ca.location": value}
    if kind == PKCS12:  # librdkafka accepts certificates as PEM only
        try:
            return {"ssl.ca.pem": pkcs12_trust(value, java.get("ssl.truststore.password"))}
        except (OSError, ValueError) as e:
            raise ClientConfigError(f"ssl.truststore.location={value} cannot be used: {e}") from None
    warnings.append(
        f"ssl.truststore.location={value} is a {kind} store, which only Java reads: export its certificates to "
        "a PEM file and set ssl.truststore.type=PEM"
    )
    return {}


def _keystore(java: Mapping[str, str], value: str, warnings: list[str]) -> dict[str, Any]:
    kind = _kind(java.get("ssl.keystore.type", JKS), value)
    if kind == PEM:  # one file holds the key and the chain
        return {"ssl.certificate.location": value, "ssl.key.location": value}
    if kind == PKCS12:
        return {"ssl.keystore.location": value, "ssl.keystore.password": java.get("ssl.keystore.password", "")}
    warnings.append(
        f"ssl.keystore.location={value} is a {kind} store, which only Java reads: convert it to PKCS12 or PEM and set "
        "ssl.keystore.type"
    )
    return {}


def _kind(named: str, location: str) -> str:
    """The type of the store file; its declared type if the file cannot be read yet."""
    try:
        kind = kind_of(location)
    except OSError:
        return named.upper()
    return kind if kind != PEM or named.upper() == PEM else named.upper()


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
    "ssl.truststore.location": _truststore,
    "ssl.keystore.location": _keystore,
}

"""TLS contexts of https listeners, and of requests to other workers' listeners, from the `ssl.*` properties of Java's
workers, with stores of any kind (`runtime/config/stores`)."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from runtime.config.listeners import ListenerError
from runtime.config.properties import comma_separated
from runtime.config.stores.cipher_suites import openssl_suites
from runtime.config.stores.key_stores import load_keys, own_keys, trusted

_VERSIONS = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
_CLIENTS = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


def server_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """The TLS context of a server. Raises ListenerError, which names the invalid property."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _limit_versions(context, settings)
    try:
        keys = own_keys(settings)
        if keys is None:
            raise ListenerError("ssl.keystore.location is missing: an https listener needs a key and a certificate")
        load_keys(context, keys)
        if certificates := trusted(settings):
            context.load_verify_locations(cadata=certificates)
        if ciphers := openssl_suites(settings.get("ssl.cipher.suites", "")):
            context.set_ciphers(ciphers)
    except (OSError, ValueError) as e:  # ssl.SSLError is an OSError
        raise ListenerError(f"ssl: cannot load the stores of the https listener: {e}") from None
    context.verify_mode = _clients(settings)
    return context


def client_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """The TLS context of requests to other workers, with the stores of this worker's own listener: its certificate is
    shown to the other worker, and its trust store, or else the system's, verifies the other worker. Raises
    ListenerError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _limit_versions(context, settings)
    context.check_hostname = settings.get("ssl.endpoint.identification.algorithm", "https").strip().lower() == "https"
    try:
        if keys := own_keys(settings):
            load_keys(context, keys)
        if certificates := trusted(settings):
            context.load_verify_locations(cadata=certificates)
        else:
            context.load_default_certs()
        if ciphers := openssl_suites(settings.get("ssl.cipher.suites", "")):
            context.set_ciphers(ciphers)
    except (OSError, ValueError) as e:  # ssl.SSLError is an OSError
        raise ListenerError(f"ssl: cannot load the stores for requests to other workers: {e}") from None
    return context


def _limit_versions(context: ssl.SSLContext, settings: Mapping[str, str]) -> None:
    names = comma_separated(settings.get("ssl.enabled.protocols", "TLSv1.2,TLSv1.3"))
    unknown = [n for n in names if n not in _VERSIONS]
    if unknown or not names:
        raise ListenerError(f"ssl.enabled.protocols={','.join(names)}: expected one or more of {', '.join(_VERSIONS)}")
    versions = sorted(_VERSIONS[n] for n in names)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]


def _clients(settings: Mapping[str, str]) -> ssl.VerifyMode:
    wanted = settings.get("ssl.client.auth", "none").lower()
    if wanted not in _CLIENTS:
        raise ListenerError(f"ssl.client.auth={wanted}: expected none, requested or required")
    has_truststore = any(k in settings for k in ("ssl.truststore.location", "ssl.truststore.certificates"))
    if wanted != "none" and not has_truststore:
        raise ListenerError(
            f"ssl.client.auth={wanted} needs ssl.truststore.location, which contains the trusted certificates"
        )
    return _CLIENTS[wanted]

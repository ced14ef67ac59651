"""TLS contexts of https listeners, and of requests to other workers' listeners, from the `ssl.*` properties of Java's
workers, with PEM and PKCS12 stores."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from runtime.config.key_stores import JKS, PEM, kind_of, load_pem, load_pkcs12, pkcs12_trust
from runtime.config.listeners import ListenerError

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
        _load_keys(context, settings)
        _load_trust(context, settings)
        if ciphers := settings.get("ssl.cipher.suites"):
            context.set_ciphers(ciphers.replace(",", ":"))
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
        if any(key in settings for key in ("ssl.keystore.location", "ssl.keystore.certificate.chain")):
            _load_keys(context, settings)
        if any(key in settings for key in ("ssl.truststore.location", "ssl.truststore.certificates")):
            _load_trust(context, settings)
        else:
            context.load_default_certs()
        if ciphers := settings.get("ssl.cipher.suites"):
            context.set_ciphers(ciphers.replace(",", ":"))
    except (OSError, ValueError) as e:  # ssl.SSLError is an OSError
        raise ListenerError(f"ssl: cannot load the stores for requests to other workers: {e}") from None
    return context


def _limit_versions(context: ssl.SSLContext, settings: Mapping[str, str]) -> None:
    names = [n.strip() for n in settings.get("ssl.enabled.protocols", "TLSv1.2,TLSv1.3").split(",") if n.strip()]
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


def _load_keys(context: ssl.SSLContext, settings: Mapping[str, str]) -> None:
    inline = settings.get("ssl.keystore.certificate.chain")
    if inline is not None:
        pem = f"{settings.get('ssl.keystore.key', '')}\n{inline}"
        load_pem(context, pem.encode(), settings.get("ssl.key.password"))
        return
    location = settings.get("ssl.keystore.location")
    if not location:
        raise ListenerError("ssl.keystore.location is missing: an https listener needs a key and a certificate")
    if _kind("ssl.keystore", location) == PEM:
        context.load_cert_chain(location, password=settings.get("ssl.key.password") or "")
    else:
        load_pkcs12(context, location, settings.get("ssl.keystore.password"))


def _load_trust(context: ssl.SSLContext, settings: Mapping[str, str]) -> None:
    if inline := settings.get("ssl.truststore.certificates"):
        context.load_verify_locations(cadata=inline)
    elif location := settings.get("ssl.truststore.location"):
        if _kind("ssl.truststore", location) == PEM:
            context.load_verify_locations(location)
        else:
            context.load_verify_locations(cadata=pkcs12_trust(location, settings.get("ssl.truststore.password")))


def _kind(which: str, location: str) -> str:
    """The format of a store: PEM or PKCS12. Raises ListenerError for a JKS store."""
    kind = kind_of(location)
    if kind == JKS:
        raise ListenerError(
            f"{which}.location={location} is a JKS store, which only Java reads: convert it with "
            "keytool -importkeystore -deststoretype PKCS12"
        )
    return kind

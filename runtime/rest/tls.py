"""TLS of https listeners, from the `ssl.*` properties that Java's workers have: PEM and PKCS12 stores."""

from __future__ import annotations

import secrets
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path

from runtime.listeners import ListenerError

_VERSIONS = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
_JKS = b"\xfe\xed\xfe\xed"
_CLIENTS = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


def server_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """A context for listening; ListenerError names the property that is wrong."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    _limit_versions(context, settings)
    try:
        _load_keys(context, settings)
        _load_trust(context, settings)
        if ciphers := settings.get("ssl.cipher.suites"):
            context.set_ciphers(ciphers.replace(",", ":"))
    except (OSError, ValueError) as e:  # ssl.SSLError is an OSError
        raise ListenerError(f"ssl: the stores of the https listener cannot be used: {e}") from None
    context.verify_mode = _clients(settings)
    return context


def _limit_versions(context: ssl.SSLContext, settings: Mapping[str, str]) -> None:
    names = [n.strip() for n in settings.get("ssl.enabled.protocols", "TLSv1.2,TLSv1.3").split(",") if n.strip()]
    unknown = [n for n in names if n not in _VERSIONS]
    if unknown or not names:
        raise ListenerError(f"ssl.enabled.protocols={','.join(names)}: expected some of {', '.join(_VERSIONS)}")
    versions = sorted(_VERSIONS[n] for n in names)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]


def _clients(settings: Mapping[str, str]) -> ssl.VerifyMode:
    wanted = settings.get("ssl.client.auth", "none").lower()
    if wanted not in _CLIENTS:
        raise ListenerError(f"ssl.client.auth={wanted}: expected none, requested or required")
    trusting = any(k in settings for k in ("ssl.truststore.location", "ssl.truststore.certificates"))
    if wanted != "none" and not trusting:
        raise ListenerError(f"ssl.client.auth={wanted} needs ssl.truststore.location: whose clients are let in?")
    return _CLIENTS[wanted]


def _load_keys(context: ssl.SSLContext, settings: Mapping[str, str]) -> None:
    inline = settings.get("ssl.keystore.certificate.chain")
    if inline is not None:
        pem = f"{settings.get('ssl.keystore.key', '')}\n{inline}"
        _load_pem(context, pem.encode(), settings.get("ssl.key.password"))
        return
    location = settings.get("ssl.keystore.location")
    if not location:
        raise ListenerError("ssl.keystore.location is missing: an https listener needs a key and a certificate")
    if _kind("ssl.keystore", location) == "PEM":
        context.load_cert_chain(location, password=settings.get("ssl.key.password") or "")
    else:
        password = secrets.token_hex(16)
        _load_pem(context, _pkcs12_keys(location, settings, password), password)


def _load_pem(context: ssl.SSLContext, pem: bytes, password: str | None) -> None:
    """Python's ssl reads keys from files only: one that others cannot read, for a moment."""
    with tempfile.NamedTemporaryFile(prefix="headrace-", suffix=".pem") as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(file.name, password=password or "")


def _pkcs12_keys(location: str, settings: Mapping[str, str], password: str) -> bytes:
    """The store's key, encrypted anew, and its chain."""
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat, pkcs12

    store = pkcs12.load_pkcs12(Path(location).read_bytes(), _password("ssl.keystore.password", settings))
    if store.key is None or store.cert is None:
        raise ListenerError(f"ssl.keystore.location={location} holds no key with a certificate")
    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password.encode()))
    chain = [store.cert, *store.additional_certs]
    return key + b"".join(c.certificate.public_bytes(Encoding.PEM) for c in chain)


def _load_trust(context: ssl.SSLContext, settings: Mapping[str, str]) -> None:
    if inline := settings.get("ssl.truststore.certificates"):
        context.load_verify_locations(cadata=inline)
    elif location := settings.get("ssl.truststore.location"):
        if _kind("ssl.truststore", location) == "PEM":
            context.load_verify_locations(location)
        else:
            context.load_verify_locations(cadata=_pkcs12_trust(location, settings))


def _pkcs12_trust(location: str, settings: Mapping[str, str]) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, pkcs12

    store = pkcs12.load_pkcs12(Path(location).read_bytes(), _password("ssl.truststore.password", settings))
    found = [*([store.cert] if store.cert else []), *store.additional_certs]
    if not found:
        raise ListenerError(f"ssl.truststore.location={location} holds no certificates")
    return "".join(c.certificate.public_bytes(Encoding.PEM).decode() for c in found)


def _kind(which: str, location: str) -> str:
    """PEM or PKCS12, told by the file's first bytes: Java too reads PKCS12 where a store is said to be JKS."""
    with Path(location).open("rb") as file:
        start = file.read(4)
    if start == _JKS:
        raise ListenerError(
            f"{which}.location={location} is a JKS store, which only Java reads: convert it with "
            "keytool -importkeystore -deststoretype PKCS12"
        )
    return "PKCS12" if start[:1] == b"\x30" else "PEM"


def _password(key: str, settings: Mapping[str, str]) -> bytes | None:
    password = settings.get(key)
    return password.encode() if password is not None else None

"""Reads key and trust stores for TLS: PEM (inline or in files) and PKCS12."""

from __future__ import annotations

import secrets
import ssl
import tempfile
from pathlib import Path

_JKS = b"\xfe\xed\xfe\xed"

PEM, PKCS12, JKS = "PEM", "PKCS12", "JKS"


class StoreError(ValueError):
    """A store cannot be used; the message names the store and the reason."""


def kind_of(location: str) -> str:
    """The store's type by its first bytes, since Java also reads PKCS12 stores declared as JKS. OSError if the file
    cannot be read."""
    with Path(location).open("rb") as file:
        start = file.read(4)
    if start == _JKS:
        return JKS
    return PKCS12 if start[:1] == b"\x30" else PEM


def load_pem(context: ssl.SSLContext, pem: bytes, password: str | None) -> None:
    """Load key and chain into the context. Python's ssl module reads keys only from files, so the key is written to a
    temporary private file."""
    with tempfile.NamedTemporaryFile(prefix="headrace-", suffix=".pem") as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(file.name, password=password or "")


def load_pkcs12(context: ssl.SSLContext, location: str, password: str | None) -> None:
    """Load key and chain of a PKCS12 store into the context. StoreError if the store has no key."""
    once = secrets.token_hex(16)
    load_pem(context, _pkcs12_keys(location, password, once), once)


def _pkcs12_keys(location: str, password: str | None, once: str) -> bytes:
    """The store's key, encrypted with another password, and its chain."""
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat, pkcs12

    store = pkcs12.load_pkcs12(Path(location).read_bytes(), _bytes(password))
    if store.key is None or store.cert is None:
        raise StoreError(f"ssl.keystore.location={location} does not contain a key with a certificate")
    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(once.encode()))
    chain = [store.cert, *store.additional_certs]
    return key + b"".join(c.certificate.public_bytes(Encoding.PEM) for c in chain)


def pkcs12_trust(location: str, password: str | None) -> str:
    """The certificates of a PKCS12 store as PEM. StoreError if the store has no certificates."""
    from cryptography.hazmat.primitives.serialization import Encoding, pkcs12

    store = pkcs12.load_pkcs12(Path(location).read_bytes(), _bytes(password))
    certificates = [*([store.cert] if store.cert else []), *store.additional_certs]
    if not certificates:
        raise StoreError(f"ssl.truststore.location={location} does not contain certificates")
    return "".join(c.certificate.public_bytes(Encoding.PEM).decode() for c in certificates)


def _bytes(password: str | None) -> bytes | None:
    return password.encode() if password is not None else None

"""Reads the stores that Java's `ssl.keystore.*` and `ssl.truststore.*` properties name.

Whatever the store, the result is PEM, which all TLS libraries accept. Errors name the property, the file and the cause.
"""

from __future__ import annotations

import secrets
import ssl
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.api.config.types import java_trim
from runtime.config.stores.java import JCEKS_MAGIC, JKS_MAGIC, MalformedStore, StoreEntry, decrypt, read_entries
from runtime.config.stores.pem import (
    Keys,
    StoreError,
    certificates_in,
    certificates_text,
    key_text,
    keys_in,
    matching,
)

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_TYPES = ("JKS", "JCEKS", "PKCS12", "PEM")
_TRUST, _KEYS = "ssl.truststore", "ssl.keystore"


def trusted(settings: Mapping[str, str]) -> str | None:
    """The certificates to trust as PEM; None if neither `ssl.truststore.location` nor `.certificates` is set. As in
    Java, these are all trusted certificates of the store, and those of its keys. Raises StoreError."""
    name = f"{_TRUST}.certificates"
    if inline := settings.get(name):
        return certificates_text(name, certificates_in(name, inline))
    location = settings.get(f"{_TRUST}.location")
    return _trusted(*_file(settings, _TRUST, location)) if location else None


def own_keys(settings: Mapping[str, str]) -> Keys | None:
    """The key and certificate to present; None if neither `ssl.keystore.location` nor `.certificate.chain` is set.
    Raises StoreError."""
    chain, password = settings.get(f"{_KEYS}.certificate.chain"), _password(settings, "ssl.key.password")
    if chain is not None:
        return keys_in(f"{_KEYS}.key", f"{settings.get(f'{_KEYS}.key', '')}\n{chain}", password)
    location = settings.get(f"{_KEYS}.location")
    return _own_keys(*_file(settings, _KEYS, location), password) if location else None


def load_keys(context: ssl.SSLContext, keys: Keys) -> None:
    """Load key and chain into the context. Python's ssl module reads keys only from files, so the key is written to a
    temporary private file, encrypted with a password that is used once."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    once = secrets.token_hex(16)
    key = key_text(load_pem_private_key(keys.key.encode(), None), once)
    with tempfile.NamedTemporaryFile(prefix="headrace-", suffix=".pem") as file:
        file.write(f"{key}{keys.chain}".encode())
        file.flush()
        context.load_cert_chain(file.name, password=once)


_Stamp = tuple[str, int, int, int]
"""A file at one time: its path, modification time, size and inode."""


def _file(settings: Mapping[str, str], which: str, location: str) -> tuple[str, _Stamp, str, str | None]:
    """The arguments by which a store is read, and read again when its file has changed."""
    name, type_ = f"{which}.location={location}", java_trim(settings.get(f"{which}.type", "JKS")).upper()
    if type_ not in _TYPES:
        raise StoreError(f"{which}.type={type_} is not supported: convert the store to one of {', '.join(_TYPES)}")
    try:
        stat = Path(location).stat()
    except OSError as e:
        raise StoreError(f"{name} cannot be read: {e.strerror}") from None
    stamp = location, stat.st_mtime_ns, stat.st_size, stat.st_ino
    return name, stamp, type_, _password(settings, f"{which}.password")


def _password(settings: Mapping[str, str], name: str) -> str | None:
    """Passwords are trimmed, as Java's clients trim them."""
    value = settings.get(name)
    return None if value is None else java_trim(value)


@lru_cache(maxsize=64)
def _trusted(name: str, stamp: _Stamp, type_: str, password: str | None) -> str:
    data = _content(name, stamp)
    kind = _kind(name, data, type_)
    if kind == "PEM":
        certificates = certificates_in(name, data.decode("latin-1"))
    elif kind == "PKCS12":
        certificates = _pkcs12(name, data, f"{_TRUST}.password", password)[1]
    else:
        certificates = [_certificate(name, e.certificates[0]) for e in _entries(name, data, _TRUST, password)]
    return certificates_text(name, certificates)


@lru_cache(maxsize=64)
def _own_keys(name: str, stamp: _Stamp, type_: str, password: str | None, key_password: str | None) -> Keys:
    data = _content(name, stamp)
    kind = _kind(name, data, type_)
    if kind == "PEM":
        return keys_in(name, data.decode("latin-1"), key_password)
    if kind == "PKCS12":
        return matching(name, *_pkcs12(name, data, f"{_KEYS}.password", password))
    entry = next((entry for entry in _entries(name, data, _KEYS, password) if entry.key), None)
    if entry is None:
        raise StoreError(f"{name} does not contain a private key with a certificate")
    key = _java_key(name, entry, password, key_password)
    return matching(name, key, [_certificate(name, certificate) for certificate in entry.certificates])


def _content(name: str, stamp: _Stamp) -> bytes:
    try:
        return Path(stamp[0]).read_bytes()
    except OSError as e:
        raise StoreError(f"{name} cannot be read: {e.strerror}") from None


def _kind(name: str, data: bytes, declared: str) -> str:
    """The store's type by its first bytes, since Java also reads PKCS12 stores declared as JKS, and JKS ones declared
    as PKCS12."""
    if data.startswith(JKS_MAGIC):
        return "JKS"
    if data.startswith(JCEKS_MAGIC):
        return "JCEKS"
    if data.startswith(b"\x30"):
        return "PKCS12"
    if b"-----BEGIN " in data:
        return "PEM"
    others = ", ".join(type_ for type_ in _TYPES if type_ != declared)
    raise StoreError(f"{name} is not a store of type {declared}, nor of {others}")


def _entries(name: str, data: bytes, which: str, password: str | None) -> list[StoreEntry]:
    try:
        return [entry for entry in read_entries(data, password) if entry.certificates]
    except MalformedStore as e:
        raise StoreError(f"{name} cannot be read with {which}.password: {e}") from None


def _java_key(name: str, entry: StoreEntry, password: str | None, key_password: str | None) -> Any:
    """The key's password is that of the store unless `ssl.key.password` is set."""
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    used = f"{_KEYS}.password" if key_password is None else "ssl.key.password"
    try:
        return load_der_private_key(decrypt(entry.key or b"", key_password or password or ""), None)
    except (ValueError, TypeError) as e:
        raise StoreError(f"{name}: the key {entry.alias} cannot be read with {used}: {e}") from None


def _pkcs12(name: str, data: bytes, used: str, password: str | None) -> tuple[Any, list[Certificate]]:
    """The key, if there is one, and all certificates, that of the key first."""
    from cryptography.hazmat.primitives.serialization import pkcs12

    try:
        store = pkcs12.load_pkcs12(data, password.encode() if password is not None else None)
    except ValueError as e:
        missing = "" if password is not None else ", which is not set"
        raise StoreError(f"{name} cannot be read with {used}{missing}: {e}") from None
    own = [store.cert.certificate] if store.cert else []
    return store.key, [*own, *(other.certificate for other in store.additional_certs)]


def _certificate(name: str, encoded: bytes) -> Certificate:
    from cryptography.x509 import load_der_x509_certificate

    try:
        return load_der_x509_certificate(encoded)
    except ValueError as e:
        raise StoreError(f"{name}: a certificate cannot be read: {e}") from None

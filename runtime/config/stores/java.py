"""Reads key stores in the formats JKS and JCEKS, which only Java writes.

A store is a head, its entries, and a digest of both with the store's password. Keys are encrypted one by one: in JKS
with a stream of SHA-1 digests, in JCEKS with triple DES under a key derived with MD5. Both formats are described by the
classes `JavaKeyStore` and `JceKeyStore` of the JDK. No library that is still maintained reads them."""

from __future__ import annotations

import hashlib
import hmac
import struct
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

JKS_MAGIC, JCEKS_MAGIC = b"\xfe\xed\xfe\xed", b"\xce\xce\xce\xce"
_DIGEST = 20  # bytes of SHA-1
_PEPPER = b"Mighty Aphrodite"  # the JDK's
_KEY, _CERTIFICATE = 1, 2
_OF_JKS, _OF_JCEKS = "1.3.6.1.4.1.42.2.17.1.1", "1.3.6.1.4.1.42.2.19.1"


class MalformedStore(ValueError):
    """The store's bytes have another form than they should, or a password is wrong."""


@dataclass(frozen=True, slots=True)
class StoreEntry:
    """A trusted certificate, or a key with its chain. `key` is encrypted (PKCS #8); certificates are in DER."""

    alias: str
    certificates: tuple[bytes, ...]
    key: bytes | None = None


def read_entries(data: bytes, password: str | None) -> list[StoreEntry]:
    """The entries in the order of the file. As in Java, the store is not verified without a password. Raises
    MalformedStore."""
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if password is not None:
        expected = hashlib.sha1(password.encode("utf-16-be") + _PEPPER + body).digest()
        if not hmac.compare_digest(expected, digest):
            raise MalformedStore("the password is wrong, or the file is damaged")
    try:
        return list(_entries(_Cursor(body, 4)))
    except (struct.error, UnicodeDecodeError):
        raise MalformedStore("the file is damaged") from None


def decrypt(protected: bytes, password: str) -> bytes:
    """A private key in DER (PKCS #8, not encrypted). Raises MalformedStore."""
    oid, parameters, encrypted = _protection(protected)
    if oid == _OF_JKS:
        return _decrypt_jks(encrypted, password.encode("utf-16-be"))
    if oid == _OF_JCEKS:
        return _decrypt_jceks(parameters, encrypted, password.encode("latin-1", "replace"))
    raise MalformedStore(f"the key is encrypted with the unknown algorithm {oid}")


class _Cursor:
    """Big-endian values, one after another; struct.error at the end."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at

    def number(self, form: str = ">i") -> int:
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return int(value)

    def octets(self, size: int) -> bytes:
        value = self._data[self._at : self._at + size]
        if size < 0 or len(value) < size:
            raise struct.error
        self._at += size
        return value

    def text(self) -> str:
        return self.octets(self.number(">H")).decode("utf-8", "surrogatepass")


def _entries(cursor: _Cursor) -> Iterator[StoreEntry]:
    version = cursor.number()
    if version not in (1, 2):
        raise MalformedStore(f"the version {version} of its format is unknown")
    for _ in range(cursor.number()):
        tag, alias, _created = cursor.number(), cursor.text(), cursor.number(">q")
        if tag == _KEY:
            key = cursor.octets(cursor.number())
            chain = tuple(_certificate(cursor, version) for _ in range(cursor.number()))
            yield StoreEntry(alias, chain, key)
        elif tag == _CERTIFICATE:
            yield StoreEntry(alias, (_certificate(cursor, version),))
        else:
            raise MalformedStore(f"the entry {alias} is neither a certificate nor a private key: remove it")


def _certificate(cursor: _Cursor, version: int) -> bytes:
    kind = cursor.text() if version == 2 else "X.509"
    if kind not in ("X.509", "X509"):
        raise MalformedStore(f"a certificate has the unknown type {kind}")
    return cursor.octets(cursor.number())


def _protection(protected: bytes) -> tuple[str, bytes, bytes]:
    """The algorithm, its parameters and the encrypted key of an EncryptedPrivateKeyInfo."""
    algorithm, encrypted = _sequence(_only(protected, 0x30))
    oid, *parameters = _sequence(algorithm)
    return _dotted(oid), parameters[0] if parameters else b"", encrypted


def _sequence(data: bytes) -> list[bytes]:
    """The contents of the DER values in `data`."""
    contents, at = [], 0
    while at < len(data):
        content, at = _value(data, at)
        contents.append(content)
    return contents


def _only(data: bytes, tag: int) -> bytes:
    content, _ = _value(data, 0)
    if data[0] != tag:
        raise MalformedStore("the key has an unknown form")
    return content


def _value(data: bytes, at: int) -> tuple[bytes, int]:
    """The content of the DER value at this index, and the index behind it."""
    if at + 2 > len(data):
        raise MalformedStore("the key is damaged")
    size, start = data[at + 1], at + 2
    if size & 0x80:
        width = size & 0x7F
        size, start = int.from_bytes(data[start : start + width], "big"), start + width
    if start + size > len(data):
        raise MalformedStore("the key is damaged")
    return data[start : start + size], start + size


def _dotted(oid: bytes) -> str:
    numbers, value = [], 0
    for octet in oid:
        value = value << 7 | octet & 0x7F
        if not octet & 0x80:
            numbers.append(value)
            value = 0
    return ".".join(map(str, (*divmod(numbers[0], 40), *numbers[1:]))) if numbers else ""


def _decrypt_jks(encrypted: bytes, password: bytes) -> bytes:
    """Salt, the key combined with the stream, digest of the key."""
    salt, body, check = encrypted[:_DIGEST], encrypted[_DIGEST:-_DIGEST], encrypted[-_DIGEST:]
    stream, block = bytearray(), salt
    while len(stream) < len(body):
        block = hashlib.sha1(password + block).digest()
        stream += block
    key = bytes(a ^ b for a, b in zip(body, stream, strict=False))
    if not hmac.compare_digest(hashlib.sha1(password + key).digest(), check):
        raise MalformedStore("the password of the key is wrong")
    return key


def _decrypt_jceks(parameters: bytes, encrypted: bytes, password: bytes) -> bytes:
    """PBEWithMD5AndTripleDES: each half of the salt is hashed to half of the key and initialization vector."""
    salt, count = _sequence(parameters)
    derived = b"".join(_derive(half, password, int.from_bytes(count, "big")) for half in (salt[:4], salt[4:]))
    plain = _triple_des(derived[:24], derived[24:], encrypted)
    padding = plain[-1] if plain else 0
    if not 1 <= padding <= 8 or plain[-padding:] != bytes([padding]) * padding:
        raise MalformedStore("the password of the key is wrong")
    return plain[:-padding]


def _derive(salt: bytes, password: bytes, count: int) -> bytes:
    value = salt
    for _ in range(count):
        value = hashlib.md5(value + password).digest()
    return value


def _triple_des(key: bytes, vector: bytes, encrypted: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers import Cipher, modes

    with warnings.catch_warnings():  # of an algorithm that is only for old data
        warnings.simplefilter("ignore")
        from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES

        decryptor = Cipher(TripleDES(key), modes.CBC(vector)).decryptor()
    try:
        return decryptor.update(encrypted) + decryptor.finalize()
    except ValueError:
        raise MalformedStore("the key is damaged") from None

"""Private keys and certificates as PEM."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)


class StoreError(ValueError):
    """A store cannot be used; the message names the property, the file and the reason."""


@dataclass(frozen=True, slots=True)
class Keys:
    """A private key (PKCS #8, not encrypted) and its certificate with the chain, as PEM."""

    key: str = field(repr=False)
    chain: str


def keys_in(name: str, text: str, password: str | None) -> Keys:
    """The key and the certificates of a text. Raises StoreError, which begins with `name`."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    block = next((pem for label, pem in _blocks(text) if label.endswith("PRIVATE KEY")), None)
    if block is None:
        raise StoreError(f"{name} does not contain a private key")
    encrypted = "ENCRYPTED" in block
    if encrypted and password is None:
        raise StoreError(f"{name}: the private key is encrypted: set ssl.key.password")
    try:
        key = load_pem_private_key(block.encode(), (password or "").encode() if encrypted else None)
    except (ValueError, TypeError) as e:
        used = " with ssl.key.password" if encrypted else ""
        raise StoreError(f"{name}: the private key cannot be read{used}: {e}") from None
    return matching(name, key, certificates_in(name, text))


def certificates_in(name: str, text: str) -> list[Certificate]:
    """The certificates of a text. Raises StoreError."""
    from cryptography.x509 import load_pem_x509_certificate

    blocks = (pem for label, pem in _blocks(text) if label.endswith("CERTIFICATE"))
    try:
        return [load_pem_x509_certificate(pem.encode()) for pem in blocks]
    except ValueError as e:
        raise StoreError(f"{name}: a certificate cannot be read: {e}") from None


def matching(name: str, key: Any, certificates: Sequence[Certificate]) -> Keys:
    """The key with its chain. Raises StoreError if they do not belong together."""
    if key is None or not certificates:
        raise StoreError(f"{name} does not contain a private key with a certificate")
    if key.public_key() != certificates[0].public_key():
        raise StoreError(f"{name}: the first certificate does not belong to the private key")
    return Keys(key_text(key), certificates_text(name, certificates))


def key_text(key: Any, password: str | None = None) -> str:
    """A key of the library `cryptography` as PEM, encrypted if there is a password."""
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    return str(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode())


def certificates_text(name: str, certificates: Sequence[Certificate]) -> str:
    """Certificates as PEM. Raises StoreError if there are none."""
    from cryptography.hazmat.primitives.serialization import Encoding

    if not certificates:
        raise StoreError(f"{name} does not contain certificates")
    return "".join(certificate.public_bytes(Encoding.PEM).decode() for certificate in certificates)


@lru_cache(maxsize=64)
def has_root(text: str) -> bool:
    """Whether one of the certificates is self-signed, as those of root authorities are."""
    return any(certificate.issuer == certificate.subject for certificate in certificates_in("", text))


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """The labels and blocks. Values of properties may have blanks instead of line ends, as with Java."""
    for label, content in _BLOCK.findall(text.replace("\r\n", "\n")):
        head, empty, body = content.rpartition("\n\n") if ":" in content else ("\n", "", content)
        lines = "\n".join(textwrap.wrap("".join(body.split()), 64))
        yield label, f"-----BEGIN {label}-----{head}{empty}{lines}\n-----END {label}-----\n"

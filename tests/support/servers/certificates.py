"""Keys and certificates generated for tests, in every kind of store."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)


@dataclass(frozen=True, slots=True)
class Stores:
    """One self-signed key; `pem` holds key and certificate, `trust` the certificate alone."""

    pem: Path
    trust: Path
    p12: Path
    trust_p12: Path
    password: str = "store-password"


def make_stores(folder: Path, name: str = "127.0.0.1", days: int = 1) -> Stores:
    """A key for this host in PEM files and PKCS12 stores, valid for so many days; expired if negative."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=3))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(True, None), True)
        .sign(key, hashes.SHA256())
    )
    folder.mkdir(parents=True, exist_ok=True)
    stores = Stores(folder / "key.pem", folder / "trust.pem", folder / "key.p12", folder / "trust.p12")
    chain = certificate.public_bytes(Encoding.PEM)
    stores.trust.write_bytes(chain)
    stores.pem.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + chain)
    encryption = BestAvailableEncryption(stores.password.encode())
    stores.p12.write_bytes(pkcs12.serialize_key_and_certificates(b"k", key, certificate, None, encryption))
    stores.trust_p12.write_bytes(pkcs12.serialize_key_and_certificates(b"t", None, None, [certificate], encryption))
    return stores

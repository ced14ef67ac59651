"""The certificate of a worker's TLS port for slots: made at each start, and known to slots by its fingerprint."""

from __future__ import annotations

import datetime
import hashlib
import os
import ssl
from pathlib import Path

_VALID = datetime.timedelta(days=3650)  # slots compare the fingerprint, not the dates


def make_certificate(folder: Path) -> tuple[ssl.SSLContext, str]:
    """The context of a server with a new key, and the SHA-256 of its certificate. The key is written to a file in the
    private `folder` for a moment, since OpenSSL reads keys from files only."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "headrace")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + _VALID)
        .sign(key, hashes.SHA256())
    )
    file = folder / "slots.pem"
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as pem:
        pem.write(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        pem.write(certificate.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_cert_chain(file)
    finally:
        file.unlink()
    return context, hashlib.sha256(certificate.public_bytes(Encoding.DER)).hexdigest()

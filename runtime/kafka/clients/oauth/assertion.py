"""Assertions with which a client asks for a token without a secret (RFC 7523, KIP-1139)."""

from __future__ import annotations

import base64
import json
import time
import uuid
from pathlib import Path
from typing import Any

from runtime.kafka.clients.oauth.oauth_settings import ASSERTION, FILES, OAuthSettings
from runtime.kafka.errors import ClientConfigError

_FILE, _KEY, _TEMPLATE = FILES


def assertion(settings: OAuthSettings) -> str:
    """The content of the assertion file, or an assertion that is signed now. Files are read each time, since others
    may renew them. Raises ClientConfigError."""
    if settings[_FILE]:
        return _read(_FILE, settings[_FILE]).strip()
    header, claims = _template(settings)
    algorithm = settings[f"{ASSERTION}algorithm"]
    parts = {"alg": algorithm, "typ": "JWT", **header}, {**claims, **_claims(settings)}
    signed = ".".join(_encoded(json.dumps(part).encode()) for part in parts)
    return f"{signed}.{_encoded(_signature(settings, algorithm, signed.encode()))}"


def read_token_file(key: str, path: str) -> str:
    """The token in a file. Raises ClientConfigError."""
    return _read(key, path).strip()


def _template(settings: OAuthSettings) -> tuple[dict[str, Any], dict[str, Any]]:
    file = settings[_TEMPLATE]
    if not file:
        return {}, {}
    try:
        document = json.loads(_read(_TEMPLATE, file))
        return dict(document.get("header") or {}), dict(document.get("payload") or {})
    except (ValueError, TypeError, AttributeError) as e:
        raise ClientConfigError(
            f"{_TEMPLATE}={file} is not a template, a JSON object of header and payload: {e}"
        ) from None


def _claims(settings: OAuthSettings) -> dict[str, Any]:
    now = int(time.time())
    named = {name: settings[f"{ASSERTION}claim.{name}"] for name in ("aud", "iss", "sub")}
    claims = {name: value for name, value in named.items() if value}
    claims["iat"], claims["exp"] = now, now + settings[f"{ASSERTION}claim.exp.seconds"]
    claims["nbf"] = now - settings[f"{ASSERTION}claim.nbf.seconds"]
    if settings[f"{ASSERTION}claim.jti.include"]:
        claims["jti"] = str(uuid.uuid4())
    return claims


def _signature(settings: OAuthSettings, algorithm: str, signed: bytes) -> bytes:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

    key = _key(settings)
    if algorithm == "RS256" and isinstance(key, rsa.RSAPrivateKey):
        return key.sign(signed, padding.PKCS1v15(), hashes.SHA256())
    if algorithm == "ES256" and isinstance(key, ec.EllipticCurvePrivateKey) and key.key_size == 256:
        r, s = decode_dss_signature(key.sign(signed, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")
    raise ClientConfigError(f"{_KEY}={settings[_KEY]} has no key for {ASSERTION}algorithm={algorithm}")


def _key(settings: OAuthSettings) -> Any:
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    text, phrase = _read(_KEY, settings[_KEY]), settings[f"{ASSERTION}private.key.passphrase"]
    try:
        return load_pem_private_key(text.encode(), phrase.encode() if phrase and "ENCRYPTED" in text else None)
    except (ValueError, TypeError) as e:
        with_phrase = f" with {ASSERTION}private.key.passphrase" if phrase else ""
        raise ClientConfigError(f"{_KEY}={settings[_KEY]} cannot be read{with_phrase}: {e}") from None


def _read(key: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise ClientConfigError(f"{key}={path} cannot be read: {getattr(e, 'strerror', None) or e}") from None


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

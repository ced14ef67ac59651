"""Cipher suites of TLS: Java uses the names of IANA's registry, OpenSSL its own for those of TLS 1.2 and older."""

from __future__ import annotations

import re

from runtime.config.properties import comma_separated

_EXCHANGES = {"RSA": "", **{f"{a}_{b}": f"{a}-{b}-" for a, b in (("ECDHE", "RSA"), ("ECDHE", "ECDSA"), ("DHE", "RSA"))}}
_JAVA = re.compile(r"TLS_([A-Z_]+)_WITH_(AES_\d+_GCM|AES_\d+_CBC|CHACHA20_POLY1305)_(SHA\d*)")
_JAVA_13 = re.compile(r"TLS_(AES_\d+_(GCM|CCM|CCM_8)|CHACHA20_POLY1305)_SHA\d+")
_OPENSSL = re.compile(r"[A-Z0-9]+(-[A-Z0-9]+)+|[A-Z0-9]*[!@+:=][A-Za-z0-9!@+:=-]*|[A-Z]+")


def openssl_suites(text: str) -> str:
    """OpenSSL's names of the suites of a `ssl.cipher.suites`, separated by colons; empty if all are of TLS 1.3, whose
    suites neither Python nor librdkafka can select. OpenSSL's own names remain. ValueError names an unknown suite."""
    return ":".join(filter(None, map(_openssl, comma_separated(text))))


def _openssl(name: str) -> str:
    if _JAVA_13.fullmatch(name):
        return ""
    match = _JAVA.fullmatch(name)
    if match is not None and match[1] in _EXCHANGES:
        return f"{_EXCHANGES[match[1]]}{_cipher(match[2], match[3])}"
    if match is None and not name.startswith("TLS_") and _OPENSSL.fullmatch(name):
        return name
    raise ValueError(f"ssl.cipher.suites: {name} is not supported")


def _cipher(cipher: str, digest: str) -> str:
    if cipher.startswith("CHACHA20"):
        return "CHACHA20-POLY1305"
    _, bits, mode = cipher.split("_")
    return "-".join((f"AES{bits}", *(["GCM"] if mode == "GCM" else []), digest))

"""TLS of kafka-python's clients, from librdkafka's settings, so both use the same keys and trust stores."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any

from runtime.config.key_stores import load_pem, load_pkcs12
from runtime.kafka.errors import ClientConfigError


def client_context(settings: Mapping[str, Any]) -> ssl.SSLContext | None:
    """The TLS context; None without TLS. ClientConfigError names the stores that cannot be used."""
    if "SSL" not in str(settings.get("security.protocol", "")):
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.get("ssl.endpoint.identification.algorithm", "https") != "none"
    try:
        _load_trust(context, settings)
        _load_keys(context, settings)
        if ciphers := settings.get("ssl.cipher.suites"):
            context.set_ciphers(ciphers)
    except (OSError, ValueError) as e:  # ssl.SSLError is an OSError
        raise ClientConfigError(f"ssl: the stores of the Kafka clients cannot be used: {e}") from None
    return context


def _load_trust(context: ssl.SSLContext, settings: Mapping[str, Any]) -> None:
    if pem := settings.get("ssl.ca.pem"):
        context.load_verify_locations(cadata=pem)
    elif location := settings.get("ssl.ca.location"):
        context.load_verify_locations(location)
    else:
        context.load_default_certs()


def _load_keys(context: ssl.SSLContext, settings: Mapping[str, Any]) -> None:
    password = settings.get("ssl.key.password")
    if chain := settings.get("ssl.certificate.pem"):
        load_pem(context, f"{settings.get('ssl.key.pem', '')}\n{chain}".encode(), password)
    elif location := settings.get("ssl.certificate.location"):
        context.load_cert_chain(location, settings.get("ssl.key.location"), password or "")
    elif location := settings.get("ssl.keystore.location"):
        load_pkcs12(context, location, settings.get("ssl.keystore.password"))

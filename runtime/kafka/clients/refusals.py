"""Why a broker and a client refuse each other, in the terms of Java's properties.

librdkafka reports most failures of TLS as "certificate verify failed" and names its own settings; kafka-python reports
none. So the handshake is repeated here, with Python's TLS, which knows the cause."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Mapping
from typing import Any

from runtime.kafka.clients.security import KEY_STORE, TRUST_STORE, client_context

_TIMEOUT = 2.0  # seconds for the connection and the handshake
_ALERT_WAIT = 0.3  # seconds in which a broker refuses the client's certificate, with TLS 1.3 after the handshake
_BROKER = re.compile(r"ssl://\[?([^/\]]+)]?:(\d+)/", re.IGNORECASE)
_EXPIRED, _NOT_YET, _OTHER_NAME, _OTHER_ADDRESS = 10, 9, 62, 64  # OpenSSL's X509_V_ERR_*
_ALERTS = {
    "CERTIFICATE_REQUIRED": "requires a certificate of the client: set ssl.keystore.location",
    "HANDSHAKE_FAILURE": "requires a certificate of the client, or other versions or ciphers of TLS",
    "UNKNOWN_CA": "does not trust the authority of the client's certificate",
    "CERTIFICATE_EXPIRED": "refuses the client's certificate, which has expired",
    "BAD_CERTIFICATE": "refuses the client's certificate",
    "CERTIFICATE_UNKNOWN": "refuses the client's certificate",
    "PROTOCOL_VERSION": "does not support TLS 1.2 or 1.3",
}


def explain(text: str, settings: Mapping[str, Any]) -> str:
    """The cause in one line, for the text of an error of librdkafka and the client's settings; the text itself if it is
    not about TLS or SASL. Blocks for the time of a handshake."""
    protocol = str(settings.get("security.protocol", ""))
    if "SASL" in text and "SASL" in protocol:
        return _login(text, settings)
    if "SSL" in text and "SSL" in protocol:
        return _handshake(_address(text, settings), settings) or text
    return text


def _login(text: str, settings: Mapping[str, Any]) -> str:
    mechanism = settings.get("sasl.mechanism", "")
    if "mechanism" in text and "upported" in text:
        return f"sasl.mechanism={mechanism} is not enabled by the broker: {text}"
    user = settings.get("sasl.username")
    return f"the broker refuses the login{f' of {user}' if user else ''} (sasl.jaas.config): {text}"


def _address(text: str, settings: Mapping[str, Any]) -> tuple[str, int]:
    if match := _BROKER.search(text):
        return match[1], int(match[2])
    host, _, port = str(settings["bootstrap.servers"]).split(",")[0].strip().rpartition(":")
    return host.rpartition("/")[2].strip("[]"), int(port)


def _handshake(address: tuple[str, int], settings: Mapping[str, Any]) -> str | None:
    """What is wrong with TLS at a broker; None if nothing is, or if it cannot be reached now."""
    context = client_context(settings)
    if context is None:
        return None
    name = ":".join(map(str, address))
    try:
        with (
            socket.create_connection(address, _TIMEOUT) as plain,
            context.wrap_socket(plain, server_hostname=address[0]) as secured,
        ):
            secured.settimeout(_ALERT_WAIT)
            secured.recv(1)
    except ssl.SSLCertVerificationError as error:
        return _certificate(name, address[0], error, settings)
    except ssl.SSLError as error:
        return _refusal(name, error, settings)
    except OSError:
        return None
    return None


def _certificate(name: str, host: str, error: ssl.SSLCertVerificationError, settings: Mapping[str, Any]) -> str:
    reason = error.verify_message
    if error.verify_code in (_EXPIRED, _NOT_YET):
        return f"the certificate of the broker {name} cannot be used: {reason}"
    if error.verify_code in (_OTHER_NAME, _OTHER_ADDRESS):
        return (
            f"the certificate of the broker {name} is not for the name {host}: use a name that it has in "
            "bootstrap.servers and the broker's advertised.listeners (ssl.endpoint.identification.algorithm=https)"
        )
    store = settings.get(TRUST_STORE, "the system's trust store (ssl.truststore.location is not set)")
    return f"the certificate of the broker {name} is not signed by an authority in {store}: {reason}"


def _refusal(name: str, error: ssl.SSLError, settings: Mapping[str, Any]) -> str | None:
    reason = error.reason or ""
    if reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
        return f"the broker {name} does not use TLS at this port: security.protocol={settings['security.protocol']}"
    cause = next((text for alert, text in _ALERTS.items() if reason.endswith(alert)), None)
    if cause is None:
        return None
    store = settings.get(KEY_STORE)
    return f"the broker {name} {cause}{f' ({store})' if store else ''}"

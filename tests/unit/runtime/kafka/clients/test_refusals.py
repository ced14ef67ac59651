"""Failures of TLS and SASL, explained by Java's properties, the file and the cause, in one line."""

from __future__ import annotations

import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from runtime.kafka.clients.client_log import refusal_of
from runtime.kafka.clients.refusals import explain
from runtime.kafka.clients.settings import client_config
from runtime.rest.security.tls import server_context
from tests.support.servers.certificates import Stores, make_stores
from tests.support.servers.java_stores import FOLDER, KEYS, TRUST


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return make_stores(tmp_path_factory.mktemp("stores"))


@contextmanager
def broker(context: ssl.SSLContext | None) -> Iterator[int]:
    """The port of a listener that ends connections after their handshake; without TLS it says nothing about it."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with closing(connection):
                    try:
                        if context is None:
                            connection.sendall(b"\0\0\0\4plain")
                        else:
                            context.wrap_socket(connection, server_side=True).close()
                    except OSError:
                        continue

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def settings(port: int, host: str = "127.0.0.1", **java: str) -> dict[str, Any]:
    given = {"security.protocol": "SSL", "bootstrap.servers": f"{host}:{port}", **java}
    return client_config(given, "admin").settings


def trust(stores: Stores) -> dict[str, str]:
    return {"ssl.truststore.location": str(stores.trust)}


FAILED = "ssl://{}:{}/bootstrap: error:0A000086:SSL routines::certificate verify failed"


@pytest.mark.parametrize("java", TRUST.values(), ids=TRUST)
def test_an_unknown_authority(java: dict[str, str], stores: Stores) -> None:
    with broker(server_context({"ssl.keystore.location": str(stores.pem)})) as port:
        text = explain(FAILED.format("127.0.0.1", port), settings(port, **java))
        store = re.escape(java["ssl.truststore.location"])
        wanted = rf"the certificate of the broker 127.0.0.1:{port} is not signed by an authority in "
        assert re.fullmatch(rf"{wanted}ssl\.truststore\.location={store}: self-signed certificate", text)


def test_a_client_whose_certificate_is_refused_or_missing(stores: Stores) -> None:
    asks = {"ssl.keystore.location": str(stores.pem), "ssl.client.auth": "required", **trust(stores)}
    with broker(server_context(asks)) as port:
        text = explain(FAILED.format("127.0.0.1", port), settings(port, **trust(stores)))
        assert text.endswith("requires a certificate of the client: set ssl.keystore.location")
        text = explain(FAILED.format("127.0.0.1", port), settings(port, **trust(stores), **KEYS["JKS"]))
        assert text.endswith(f"authority of the client's certificate (ssl.keystore.location={FOLDER}/keys.jks)")


def test_an_expired_certificate_is_a_refusal(tmp_path: Path) -> None:
    """librdkafka calls it a failure of the connection, which it repeats without end."""
    expired = make_stores(tmp_path, days=-1)
    with broker(server_context({"ssl.keystore.location": str(expired.pem)})) as port:
        wanted = f"the certificate of the broker 127.0.0.1:{port} cannot be used: certificate has expired"
        assert refusal_of(settings(port, **trust(expired)), 20) == wanted


def test_another_host_name(stores: Stores) -> None:
    with broker(server_context({"ssl.keystore.location": str(stores.pem)})) as port:
        text = explain(FAILED.format("localhost", port), settings(port, "localhost", **trust(stores)))
        assert text.startswith(f"the certificate of the broker localhost:{port} is not for the name localhost: use")
        assert "\n" not in text


def test_a_listener_without_tls(stores: Stores) -> None:
    with broker(None) as port:
        text = explain("SSL handshake failed", settings(port, **trust(stores)))
        assert text == f"the broker 127.0.0.1:{port} does not use TLS at this port: security.protocol=SSL"


def test_a_broker_that_is_away_and_errors_of_other_kinds(stores: Stores) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert explain("SSL handshake failed", settings(port, **trust(stores))) == "SSL handshake failed"
    assert explain("Connection refused", settings(port, **trust(stores))) == "Connection refused"


def test_logins() -> None:
    jaas = "org.apache.kafka.common.security.plain.PlainLoginModule required username=ann password=x;"
    given = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}
    text = explain("SASL authentication error: Invalid username or password", settings(1, **given))
    assert text.startswith("the broker refuses the login of ann (sasl.jaas.config): SASL authentication error: Invalid")
    text = explain("SASL PLAIN mechanism handshake failed: Broker: Unsupported SASL mechanism", settings(1, **given))
    assert text.startswith("sasl.mechanism=PLAIN is not enabled by the broker: ")

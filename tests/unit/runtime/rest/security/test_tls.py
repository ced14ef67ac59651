"""TLS contexts from stores of all kinds, with real handshakes."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from runtime.config.listeners import ListenerError
from runtime.rest.security.tls import client_context, server_context
from tests.support.servers.certificates import Stores, make_stores
from tests.support.servers.handshake import handshake
from tests.support.servers.java_stores import KEYS, TRUST


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return make_stores(tmp_path_factory.mktemp("stores"))


def client(stores: Stores, with_key: bool = False) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(stores.trust))
    if with_key:
        context.load_cert_chain(stores.pem)
    return context


def test_pem_and_pkcs12_key_stores(stores: Stores) -> None:
    for settings in (
        {"ssl.keystore.location": str(stores.pem), "ssl.keystore.type": "PEM"},
        {"ssl.keystore.location": str(stores.p12), "ssl.keystore.password": stores.password},
        {"ssl.keystore.certificate.chain": stores.trust.read_text(), "ssl.keystore.key": stores.pem.read_text()},
    ):
        assert handshake(server_context(settings), client(stores)) == "TLSv1.3"
    only = {"ssl.keystore.location": str(stores.pem), "ssl.enabled.protocols": "TLSv1.2"}
    assert handshake(server_context(only), client(stores)) == "TLSv1.2"


@pytest.mark.parametrize("trust", ["trust", "trust_p12"])
def test_clients_need_certificates_if_required(stores: Stores, trust: str) -> None:
    settings = {
        "ssl.keystore.location": str(stores.pem),
        "ssl.truststore.location": str(getattr(stores, trust)),
        "ssl.truststore.password": stores.password,
        "ssl.client.auth": "required",
    }
    assert handshake(server_context(settings), client(stores, with_key=True)) == "TLSv1.3"
    with pytest.raises(OSError):
        handshake(server_context(settings), client(stores))
    assert handshake(server_context({**settings, "ssl.client.auth": "requested"}), client(stores))


def test_unusable_stores_are_reported(stores: Stores, tmp_path: Path) -> None:
    pem = {"ssl.keystore.location": str(stores.pem)}
    for settings, message in (
        ({}, "ssl.keystore.location is missing"),
        ({"ssl.keystore.location": str(tmp_path / "none")}, "No such file"),
        ({"ssl.keystore.location": str(stores.p12), "ssl.keystore.password": "wrong"}, "cannot load the stores"),
        ({"ssl.keystore.location": str(stores.trust)}, "cannot load the stores"),
        ({**pem, "ssl.client.auth": "required"}, "needs ssl.truststore.location"),
        ({**pem, "ssl.client.auth": "perhaps"}, "expected none, requested or required"),
        ({**pem, "ssl.enabled.protocols": "SSLv3"}, "ssl.enabled.protocols"),
    ):
        with pytest.raises(ListenerError, match=message):
            server_context(settings)


@pytest.mark.parametrize("kind", KEYS)
def test_stores_of_java(kind: str) -> None:
    """Also with the chain: the client knows only the root."""
    context = server_context({**KEYS[kind], **TRUST[kind], "ssl.client.auth": "required"})
    assert handshake(context, client_context({**KEYS[kind], **TRUST["JKS"]})) == "TLSv1.3"

"""Stores of every kind reach a broker that requires certificates."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from runtime.config.stores.key_stores import own_keys
from runtime.kafka.clients.oauth.tokens import native_settings
from runtime.kafka.clients.settings import client_config, kafka_python_config
from runtime.kafka.errors import ClientConfigError
from runtime.rest.security.tls import server_context
from tests.support.servers.certificates import Stores, make_stores
from tests.support.servers.handshake import handshake
from tests.support.servers.java_stores import KEYS, ROOT, TRUST


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    return make_stores(tmp_path_factory.mktemp("stores"))


def keys(stores: Stores) -> dict[str, dict[str, str]]:
    return {
        "pem": {"ssl.keystore.location": str(stores.pem), "ssl.keystore.type": "PEM"},
        "inline": {
            "ssl.keystore.certificate.chain": stores.trust.read_text(),
            "ssl.keystore.key": stores.pem.read_text().partition("-----BEGIN CERT")[0],
            "ssl.keystore.type": "PEM",
        },
        "pkcs12": {
            "ssl.keystore.location": str(stores.p12),
            "ssl.keystore.password": stores.password,
            "ssl.keystore.type": "PKCS12",
        },
        "pkcs12 called JKS": {"ssl.keystore.location": str(stores.p12), "ssl.keystore.password": stores.password},
    }


def trust(stores: Stores) -> dict[str, dict[str, str]]:
    return {
        "pem": {"ssl.truststore.location": str(stores.trust), "ssl.truststore.type": "PEM"},
        "inline": {"ssl.truststore.certificates": stores.trust.read_text(), "ssl.truststore.type": "PEM"},
        "pkcs12": {"ssl.truststore.location": str(stores.trust_p12), "ssl.truststore.password": stores.password},
    }


@pytest.mark.parametrize("key", ["pem", "inline", "pkcs12", "pkcs12 called JKS"])
@pytest.mark.parametrize("trusted", ["pem", "inline", "pkcs12"])
def test_all_stores_reach_a_broker_that_asks_for_certificates(stores: Stores, key: str, trusted: str) -> None:
    broker = server_context(
        {
            "ssl.keystore.location": str(stores.pem),
            "ssl.truststore.location": str(stores.trust),
            "ssl.client.auth": "required",
        }
    )
    java = {"security.protocol": "SSL", **keys(stores)[key], **trust(stores)[trusted]}
    config = client_config(java, "admin")
    assert config.warnings == ()
    assert handshake(broker, kafka_python_config(config.settings)["ssl_context"])


def test_names_are_checked_unless_that_is_switched_off(stores: Stores) -> None:
    broker = server_context({"ssl.keystore.location": str(stores.pem)})
    java = {"security.protocol": "SSL", **trust(stores)["pem"]}
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(broker, kafka_python_config(client_config(java, "admin").settings)["ssl_context"], "other")
    java["ssl.endpoint.identification.algorithm"] = ""
    assert handshake(broker, kafka_python_config(client_config(java, "admin").settings)["ssl_context"], "other")


def test_stores_that_cannot_be_used_are_named(stores: Stores, tmp_path: Path) -> None:
    java = {"security.protocol": "SSL", **keys(stores)["pkcs12"], "ssl.keystore.password": "wrong"}
    with pytest.raises(ClientConfigError, match=rf"^ssl\.keystore\.location={stores.p12} cannot be read with ssl\.key"):
        client_config(java, "admin")
    java = {"security.protocol": "ssl", "ssl.truststore.location": str(stores.trust_p12)}
    with pytest.raises(ClientConfigError, match=r"^ssl\.truststore\.location=.*\.password, which is not set"):
        client_config(java, "admin")
    assert client_config({**java, "security.protocol": "PLAINTEXT"}, "admin").warnings == ()


@pytest.mark.parametrize("kind", KEYS)
def test_stores_of_java(kind: str) -> None:
    """The client presents its chain, and trusts the root."""
    broker = server_context({**KEYS[kind], "ssl.truststore.location": str(ROOT), "ssl.client.auth": "required"})
    config = client_config({"security.protocol": "SSL", **KEYS[kind], **TRUST[kind]}, "admin")
    assert config.warnings == ()
    assert handshake(broker, kafka_python_config(config.settings)["ssl_context"])
    assert {"ssl.ca.pem", "ssl.key.pem", "ssl.certificate.pem"} < {*config.settings}


def test_a_trust_store_without_a_root_is_refused(tmp_path: Path) -> None:
    """librdkafka would trust none of its certificates."""
    chain = own_keys(KEYS["JKS"])
    assert chain is not None
    file = tmp_path / "trust.pem"
    file.write_text(chain.chain.partition("-----END CERTIFICATE-----\n")[0] + "-----END CERTIFICATE-----\n")
    with pytest.raises(ClientConfigError, match=rf"^ssl.truststore.location={file} contains only certificates that"):
        client_config({"security.protocol": "SSL", "ssl.truststore.location": str(file)}, "admin")


def test_cipher_suites_by_names_of_java(stores: Stores) -> None:
    """The broker has one suite of TLS 1.2; both Kafka clients get the same list."""
    broker = {"ssl.keystore.location": str(stores.pem), "ssl.enabled.protocols": "TLSv1.2"}
    suite = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    served = server_context({**broker, "ssl.cipher.suites": suite})
    java = {"security.protocol": "SSL", **trust(stores)["pem"]}

    def connect(suites: str) -> object:
        config = client_config({**java, "ssl.cipher.suites": suites}, "admin")
        assert config.warnings == ()
        AdminClient({**native_settings(config.settings), "log_level": 0})
        return handshake(served, kafka_python_config(config.settings)["ssl_context"])

    assert connect(f"TLS_AES_128_GCM_SHA256,{suite}") == "TLSv1.2"
    with pytest.raises(OSError):
        connect("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384")
    with pytest.raises(ClientConfigError, match=r"ssl\.cipher\.suites: TLS_NONE is not supported"):
        connect("TLS_NONE")


@pytest.mark.parametrize(
    "key, value, warning",
    [
        ("ssl.cipher.suites", "TLS_AES_128_GCM_SHA256", "use all suites, although ssl.cipher.suites lists"),
        ("ssl.enabled.protocols", "TLSv1.3", "use TLS 1.2 and 1.3, although ssl.enabled.protocols=TLSv1.3"),
    ],
)
def test_limits_that_the_clients_lack_are_told(key: str, value: str, warning: str) -> None:
    java = {"security.protocol": "SSL", key: value}
    (told,) = client_config(java, "admin").warnings
    assert warning in told
    both = {"ssl.enabled.protocols": "TLSv1.3, TLSv1.2,TLSv1.1", "ssl.cipher.suites": ""}
    assert client_config({**java, **both}, "admin").warnings == ()
    with pytest.raises(ClientConfigError, match=r"ssl\.enabled\.protocols=TLSv1\.1 has neither TLSv1\.2 nor TLSv1\.3"):
        client_config({**java, "ssl.enabled.protocols": "TLSv1.1"}, "admin")

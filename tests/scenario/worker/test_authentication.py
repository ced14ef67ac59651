"""Workers whose Kafka clients authenticate with a real broker: each mechanism, and credentials that change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import unique
from tests.support.clusters.authentication import (
    for_all_clients,
    for_clients,
    group_authenticates,
    until_reauthenticated,
)
from tests.support.clusters.group_work import append, await_lines
from tests.support.connect import Connect
from tests.support.kafka.secured_broker import MECHANISMS, SecuredBroker
from tests.support.servers.certificates import make_stores
from tests.support.servers.java_stores import ROOT
from tests.support.servers.token_endpoint import TokenEndpoint, token_endpoint
from tests.support.waiting import wait_until
from tests.support.workers import our_worker

REAUTHENTICATION = 10_000
"""Milliseconds of a session of SASL: less than the tests take."""


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    settings = {"connections.max.reauth.ms": REAUTHENTICATION}
    with SecuredBroker(tmp_path_factory.mktemp("secured"), settings).started() as broker:
        yield broker


@pytest.fixture(scope="module")
def tokens() -> Iterator[TokenEndpoint]:
    with token_endpoint() as endpoint:
        yield endpoint


@pytest.mark.soak
@pytest.mark.parametrize("exactly_once", ["disabled", "enabled"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_group_of_two_authenticates(
    secured: SecuredBroker, tokens: TokenEndpoint, tmp_path: Path, mechanism: str, exactly_once: str
) -> None:
    properties = for_all_clients(secured.login(mechanism, tokens.url))
    properties |= {"exactly.once.source.support": exactly_once, "headrace.slots": "1"}
    group_authenticates(secured, tmp_path, properties, REAUTHENTICATION / 1000)


def test_clients_of_each_kind_authenticate_in_their_own_way(
    secured: SecuredBroker, tokens: TokenEndpoint, tmp_path: Path
) -> None:
    """The short part of the test above: four mechanisms, and no session ends."""
    kinds = {"": "SCRAM-SHA-512", "producer.": "PLAIN", "consumer.": "OAUTHBEARER", "admin.": "mTLS with PKCS12"}
    properties = for_clients({kind: secured.login(mechanism, tokens.url) for kind, mechanism in kinds.items()})
    properties |= {"exactly.once.source.support": "enabled", "headrace.slots": "1"}
    group_authenticates(secured, tmp_path, properties, 0)


@pytest.mark.soak
def test_passwords_and_certificates_change_under_a_running_worker(tmp_path: Path) -> None:
    """The password in the file of a config provider, and the key store; the broker accepts only the new ones then. The
    tasks run on, but for a restart with the new certificate."""
    old, new = (make_stores(tmp_path / name) for name in ("old", "new"))
    trust, keys, word = (tmp_path / name for name in ("trust.pem", "keys.p12", "secret.properties"))
    trust.write_text(old.trust.read_text() + new.trust.read_text() + ROOT.read_text())
    keys.write_bytes(old.p12.read_bytes())
    word.write_text("password=administrator-secret\n")
    broker = SecuredBroker(
        tmp_path / "broker",
        {
            "connections.max.reauth.ms": REAUTHENTICATION,
            "listener.name.sasl_ssl.ssl.truststore.type": "PEM",
            "listener.name.sasl_ssl.ssl.truststore.location": trust,
            "listener.name.sasl_ssl.ssl.truststore.password": None,
        },
    )
    login = broker.login("SCRAM-SHA-512", "")
    login |= {"ssl.keystore.location": str(keys), "ssl.keystore.password": old.password, "ssl.keystore.type": "PKCS12"}
    login["sasl.jaas.config"] = login["sasl.jaas.config"].replace("administrator-secret", f"${{file:{word}:password}}")
    del login["ssl.key.password"]
    properties = for_all_clients(login) | {
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "exactly.once.source.support": "enabled",
        "headrace.slots": "1",
    }
    lines, copy = tmp_path / "lines", tmp_path / "copy"
    worker = our_worker(tmp_path, broker.secured, properties)
    connect = Connect(worker)
    try:
        broker.start()
        topic = broker.create_topic(unique("lines"))
        worker.start()
        lines.write_text("1\n")
        connect.source("source", str(lines), topic)
        connect.sink("sink", str(copy), topic)
        await_lines(copy, "1")

        broker.set_passwords({"administrator": "another-secret"})
        word.write_text("password=another-secret\n")
        until_reauthenticated(REAUTHENTICATION / 1000)
        append(lines, "2")
        await_lines(copy, "1", "2")
        assert "FAILED" not in worker.log.read_text()

        keys.write_bytes(new.p12.read_bytes())
        wait_until(lambda: worker.log.read_text().count("use other credentials from now on") == 2, 30)
        broker.stop()
        trust.write_text(new.trust.read_text() + ROOT.read_text())
        broker.restart()
        append(lines, "3")
        await_lines(copy, "1", "2", "3")
        connect.stop("source")
        connect.alter("source", ({"filename": str(lines)}, {"position": 4}))
        connect.resume("source")
        await_lines(copy, "1", "2", "3", "3")
        log = worker.log.read_text()
        assert "FAILED" not in log and "another-secret" not in log and "administrator-secret" not in log
    finally:
        if worker.running():
            worker.stop()
        broker.stop()

"""Credentials that change while Kafka clients use them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from runtime.kafka.clients import logins, open_clients
from runtime.kafka.clients.logins import LOGIN, certificates
from runtime.kafka.clients.oauth.tokens import native_settings
from runtime.kafka.clients.settings import client_config, kafka_python_config, own_logins, reaching_config
from runtime.pipeline.produce.producers import Producers

MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule required"
LOGGED_IN = {
    "bootstrap.servers": "localhost:1",
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-256",
    "sasl.jaas.config": f'{MODULE} username="ann" password="old-secret";',
}
NEW = {"sasl.username": "ann", "sasl.password": "new-secret"}


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    logins._renewed.clear()


def test_settings_name_their_login_unless_the_connector_has_its_own() -> None:
    originals = {f"{prefix}{key}": value for prefix in ("", "producer.") for key, value in LOGGED_IN.items()}
    assert client_config(originals, "admin").settings[LOGIN] == "worker."
    assert client_config(originals, "producer", {}).settings[LOGIN] == "producer."
    assert reaching_config(originals, "admin", {})[LOGIN] == "admin."
    assert LOGIN not in client_config(originals, "consumer", {}).settings  # it has no credentials
    own = {f"producer.override.{key}": value for key, value in LOGGED_IN.items()}
    assert LOGIN not in client_config(originals, "producer", own).settings
    assert own_logins(originals, own)["producer"]["sasl.password"] == "old-secret"


def test_new_clients_get_the_current_credentials() -> None:
    settings = client_config(LOGGED_IN, "admin").settings
    open_clients.renew({"worker.": NEW})
    assert native_settings(settings)["sasl.password"] == "new-secret"
    assert kafka_python_config(settings)["sasl_plain_password"] == "new-secret"
    assert client_config(LOGGED_IN, "admin").settings["sasl.password"] == "new-secret"
    other = {**settings, LOGIN: "producer.", "sasl.password": "old-secret"}
    assert native_settings(other)["sasl.password"] == "old-secret"
    assert not any(key.startswith("headrace.") for key in native_settings(settings))


def test_running_clients_get_new_passwords() -> None:
    given: list[tuple[str, str]] = []

    class Client:
        def __init__(self, settings: dict[str, object]) -> None:
            given.append((str(settings["sasl.username"]), str(settings["sasl.password"])))

        def set_sasl_credentials(self, user: str, password: str) -> None:
            given.append((user, password))

        def __exit__(self, *error: object) -> None:
            pass

    client = open_clients.opened(Client, client_config(LOGGED_IN, "admin").settings)
    open_clients.renew({"consumer.": NEW})
    open_clients.log_in_again(client)
    assert set(given) == {("ann", "old-secret")}
    del given[:]
    open_clients.renew({"worker.": NEW})
    assert given == []  # the thread that polls the client does it
    for _ in range(2):
        open_clients.log_in_again(client)
    assert given == [("ann", "new-secret")]
    open_clients.renew({"worker.": NEW})
    open_clients.close(client)
    open_clients.log_in_again(client)
    assert len(given) == 1


def test_a_producer_is_shared_until_its_certificates_change() -> None:
    settings = client_config(LOGGED_IN, "producer").settings
    producers = Producers()
    first = producers.take(settings)
    open_clients.renew({"worker.": NEW})
    assert producers.take(client_config(LOGGED_IN, "producer").settings) is first
    before = certificates(settings)
    logins.renew({"worker.": {**NEW, "ssl.ca.pem": "other"}})
    assert certificates(settings) != before and first.outdated

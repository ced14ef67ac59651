"""Workers whose Kafka clients log in with Kerberos: a real KDC, and a broker with a listener for GSSAPI.

They need a librdkafka with GSSAPI, which the wheels of pip are not: docs/ops/kerberos.md builds one. Run the tests in
that environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.doctor.kafka_clients import check_kafka_clients
from runtime.kafka.clients.kerberos import check_kerberos
from runtime.kafka.errors import ClientConfigError
from tests.support.broker import unique
from tests.support.clusters.authentication import for_all_clients, group_authenticates, until_reauthenticated
from tests.support.clusters.group_work import append, await_lines
from tests.support.connect import Connect
from tests.support.kafka.kerberos_broker import KerberosBroker, kerberos_broker
from tests.support.servers.kdc import REALM, Kdc, kdc, missing
from tests.support.waiting import wait_until
from tests.support.workers import our_worker, write_properties

LIFETIME = 30
"""Seconds for which tickets are valid: less than the tests take."""

SESSION = 10.0
"""Seconds of a session of SASL."""

pytestmark = pytest.mark.soak


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    try:
        check_kerberos()
    except ClientConfigError as error:
        pytest.skip(f"these tests run where GSSAPI is available: {error}")
    if absent := missing():
        pytest.skip(f"these tests need a KDC, and this machine lacks {absent}")
    with kdc(tmp_path_factory.mktemp("kdc"), LIFETIME) as server, pytest.MonkeyPatch.context() as patch:
        for key, value in server.environment.items():
            patch.setenv(key, value)
        yield server


@pytest.fixture(scope="module")
def secured(realm: Kdc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KerberosBroker]:
    with kerberos_broker(tmp_path_factory.mktemp("broker"), realm, SESSION) as broker:
        yield broker


def with_keytab(realm: Kdc, user: str) -> str:
    """The login module's options for a new principal."""
    return f'useKeyTab=true storeKey=true keyTab="{realm.keytab(user)}" principal="{user}@{REALM}"'


@pytest.mark.timeout(300)
@pytest.mark.parametrize("exactly_once", ["disabled", "enabled"])
def test_a_group_of_two_logs_in_with_a_key_table(
    realm: Kdc, secured: KerberosBroker, tmp_path: Path, exactly_once: str
) -> None:
    """For longer than a ticket is valid, so that libkrb5 has to take another one."""
    login = secured.login(with_keytab(realm, unique("worker")))
    properties = for_all_clients(login) | {"exactly.once.source.support": exactly_once, "headrace.slots": "1"}
    group_authenticates(secured, tmp_path, properties, max(SESSION, LIFETIME))


@pytest.mark.timeout(300)
def test_a_worker_uses_a_ticket_cache_that_others_renew(realm: Kdc, secured: KerberosBroker, tmp_path: Path) -> None:
    user, cache = unique("cached"), tmp_path / "cache"
    keytab = realm.keytab(user)
    login = secured.login(f'useTicketCache=true ticketCache="{cache}"')
    worker = our_worker(tmp_path, secured.kerberos, for_all_clients(login) | {"headrace.slots": "1"})
    connect, lines, copy = Connect(worker), tmp_path / "lines", tmp_path / "copy"
    try:
        worker.start(wait=False)
        wait_until(lambda: "no ticket for the ticket cache" in worker.log.read_text(), 60, "the reason")
        assert worker.wait(60) == 1 and "kinit" in worker.log.read_text()

        realm.kinit(user, keytab, cache)
        worker.start()
        topic = secured.create_topic(unique("lines"))
        lines.write_text("1\n")
        connect.source("source", str(lines), topic)
        connect.sink("sink", str(copy), topic)
        for line in range(2, 8):  # together longer than a ticket is valid
            until_reauthenticated(SESSION / 2)
            realm.kinit(user, keytab, cache)
            append(lines, str(line))
            await_lines(copy, *map(str, range(1, line + 1)))
    finally:
        if worker.running():
            worker.stop()


def test_a_key_table_of_another_principal_and_a_missing_one(
    realm: Kdc, secured: KerberosBroker, tmp_path: Path
) -> None:
    """One line at the start, and by the doctor for what it can see without a KDC."""
    keytab = realm.keytab(unique("right"))
    login = secured.login(f'useKeyTab=true keyTab="{keytab}" principal="wrong@{REALM}"')
    worker = our_worker(tmp_path, secured.kerberos, for_all_clients(login))
    worker.start(wait=False)
    assert worker.wait(60) == 1
    last = worker.log.read_text().splitlines()[-1]
    assert f"no ticket for principal wrong@{REALM} with keyTab={keytab}: " in last

    lost = for_all_clients(secured.login('useKeyTab=true keyTab="/no/keytab" principal="a@B"'))
    file = write_properties(tmp_path / "lost.properties", lost)
    assert "keyTab=/no/keytab cannot be read" in str(next(check_kafka_clients(file)))


def test_a_worker_waits_for_a_kdc_that_does_not_respond(realm: Kdc, secured: KerberosBroker, tmp_path: Path) -> None:
    worker = our_worker(tmp_path, secured.kerberos, for_all_clients(secured.login(with_keytab(realm, unique("early")))))
    realm.stop()
    try:
        worker.start(wait=False)
        wait_until(lambda: "no ticket for principal early" in worker.log.read_text(), 60, "the reason")
        assert worker.running() and worker.request("GET", "/health")[0] == 503
    finally:
        realm.start()
    try:
        worker.wait_healthy()
    finally:
        worker.stop()

"""The servers and addresses to which kafka-python connects."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kafka.errors import KafkaConnectionError, KafkaTimeoutError

from runtime.kafka.clients import kafka_python, next_address
from runtime.kafka.clients.next_address import FailedAddressesLast, no_response

GOOD, SILENT = (2, 1, 6, "", ("10.0.0.1", 9092)), (2, 1, 6, "", ("10.0.0.2", 9092))


class TwoAddresses:
    """Two addresses, of which one does not respond."""

    def dns_lookup(self, host: str, port: int) -> list[Any]:
        return [GOOD, SILENT]

    async def connect(self, net: Any, address: Any) -> str:
        if address == SILENT:
            raise KafkaConnectionError("Connection timed out")
        return "connected"


@pytest.fixture(autouse=True)
def network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_address, "_plain", TwoAddresses())
    monkeypatch.setattr(next_address, "_failed", {})
    monkeypatch.setattr(next_address, "_connected", {})


async def connect(address: Any) -> None:
    attempt = FailedAddressesLast()
    attempt.dns_lookup("brokers", 9092)
    await attempt.connect(None, address)


async def test_connections_keep_the_address_that_works() -> None:
    for _ in range(3):  # a bootstrap, then a connection to the coordinator
        assert FailedAddressesLast().dns_lookup("brokers", 9092) == [GOOD, SILENT]
        await connect(GOOD)


async def test_addresses_that_have_failed_are_last() -> None:
    await connect(GOOD)
    no_response("brokers:9092")
    assert FailedAddressesLast().dns_lookup("brokers", 9092) == [SILENT, GOOD]
    with pytest.raises(KafkaConnectionError):
        await connect(SILENT)
    assert FailedAddressesLast().dns_lookup("brokers", 9092) == [GOOD, SILENT]


@pytest.mark.parametrize(
    ("servers", "timeout", "expected"),
    [(1, 0.5, [0.5]), (5, 2.0, [1.0, 1.0]), (3, 12.0, [1.0, 1.0, 1.0, 3.0, 3.0, 3.0])],
)
def test_each_attempt_has_time_for_a_handshake(
    servers: int, timeout: float, expected: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, attempts = [0.0], list[float]()

    def attempt(settings: Any, server: str, within: float, limits: Any) -> None:
        attempts.append(within)
        now[0] += within
        raise KafkaTimeoutError

    monkeypatch.setattr(kafka_python, "_open_admin", attempt)
    monkeypatch.setattr(kafka_python, "time", SimpleNamespace(monotonic=lambda: now[0]))
    names = [f"b{number}:9092" for number in range(servers)]
    with pytest.raises(KafkaTimeoutError):
        kafka_python.open_admin({"bootstrap.servers": ",".join(names)}, timeout)
    assert attempts == expected

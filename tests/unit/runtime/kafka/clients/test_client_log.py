"""Connection errors are logged at a limited rate."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

import pytest
from confluent_kafka import KafkaError, ThrottleEvent

from runtime.kafka.clients.client_log import ClientLog, LogThrottle, QuotaDelays
from runtime.kafka.clients.logins import LOGIN
from runtime.pipeline.produce.producers import SlotProducer
from runtime.pipeline.sink.consumer import make_consumer
from tests.support.interrupted import runs_inside
from tests.support.waiting import wait_until

UNKNOWN = {"bootstrap.servers": "127.0.0.1:1"}
"""No other test causes this error, so its first line in this process is logged here."""


def test_a_kind_of_error_is_logged_once_a_minute() -> None:
    now = 0.0
    throttle = LogThrottle(lambda: now)
    assert throttle.allow("consumer", "_TRANSPORT") == 0
    assert [throttle.allow("consumer", "_TRANSPORT") for _ in range(3)] == [None] * 3
    assert throttle.allow("consumer", "_ALL_BROKERS_DOWN") == 0
    assert throttle.allow("producer", "_TRANSPORT") == 0
    now = 60.0
    assert throttle.allow("consumer", "_TRANSPORT") == 3
    assert throttle.allow("consumer", "_TRANSPORT") is None


def test_delays_by_quotas_are_named_for_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    quota = QuotaDelays("producer", LogThrottle(lambda: now), lambda: now)
    quota(ThrottleEvent("b:1", 1, 0.9))
    assert (str(quota), caplog.messages) == ("", [])
    for delay in (12.34, 15.0):
        quota(ThrottleEvent("b:1", 1, delay))
    assert str(quota) == "a quota of the brokers delays requests by 15.0 s"
    assert caplog.messages == ["The producer waits: a quota of the brokers delays requests by 12.3 s"]
    now = 60.0
    assert str(quota) == ""


def test_a_client_that_the_collector_closes_meanwhile_may_report_an_error() -> None:
    throttle = LogThrottle()
    assert runs_inside(lambda: throttle.allow("a"), LogThrottle.allow, lambda: throttle.allow("b"))


def test_producers_log_why_they_retry(caplog: pytest.LogCaptureFixture) -> None:
    producer = SlotProducer(UNKNOWN)
    wait_until_logged(caplog, "producer", lambda: producer.poll(0.1))


def test_consumers_log_why_they_retry(caplog: pytest.LogCaptureFixture) -> None:
    with closing(make_consumer({**UNKNOWN, "group.id": "g"}, lambda error, done: None, 1024)) as consumer:
        consumer.subscribe(["t"])
        wait_until_logged(caplog, "consumer", lambda: consumer.poll(0.1))


def refused(log: ClientLog, *names: str) -> bool:
    for name in names:
        log(KafkaError(getattr(KafkaError, name), "SSL handshake failed: alert unknown ca"))
    return log.refusal is not None


def test_a_refusal_by_all_brokers_is_one_that_trying_again_does_not_change() -> None:
    assert not refused(ClientLog("c"), "_TRANSPORT", "_ALL_BROKERS_DOWN")
    assert not refused(ClientLog("c"), "_AUTHENTICATION")
    assert refused(ClientLog("c"), "_AUTHENTICATION", "_ALL_BROKERS_DOWN")
    assert refused(ClientLog("c"), "_SSL", "_TRANSPORT", "_ALL_BROKERS_DOWN")


def test_a_broker_that_stops_during_the_handshake_refuses_nobody() -> None:
    log = ClientLog("c")
    log(KafkaError(KafkaError._SSL, "SSL handshake failed: Disconnected"))
    assert not refused(log, "_ALL_BROKERS_DOWN")


def test_an_outage_long_after_a_refusal_is_an_outage() -> None:
    now = 0.0
    log = ClientLog("c", clock=lambda: now)
    assert not refused(log, "_AUTHENTICATION")
    now = 60.0
    assert not refused(log, "_ALL_BROKERS_DOWN")


def test_a_login_of_the_worker_may_be_refused_until_its_file_has_the_new_password() -> None:
    now, login = 0.0, {LOGIN: "producer."}
    log = ClientLog("c", clock=lambda: now, reaching=login)
    assert not refused(log, "_AUTHENTICATION", "_ALL_BROKERS_DOWN")
    now = 6.0
    assert not refused(log, "_AUTHENTICATION", "_ALL_BROKERS_DOWN")
    now = 11.0
    assert refused(log, "_AUTHENTICATION", "_ALL_BROKERS_DOWN")
    assert refused(ClientLog("c", reaching=login, patient=False), "_AUTHENTICATION", "_ALL_BROKERS_DOWN")


def wait_until_logged(caplog: pytest.LogCaptureFixture, client: str, poll: Callable[[], object]) -> None:
    def is_logged() -> bool:
        poll()
        return f"The {client} retries: 127.0.0.1:1" in caplog.text

    wait_until(is_logged)

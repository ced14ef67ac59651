from __future__ import annotations

from runtime.pipeline.produce.client_log import LogThrottle


def test_a_kind_of_trouble_is_told_once_a_minute() -> None:
    now = 0.0
    teller = LogThrottle(lambda: now)
    assert teller.wants("consumer", "_TRANSPORT") == 0
    assert [teller.wants("consumer", "_TRANSPORT") for _ in range(3)] == [None] * 3
    assert teller.wants("consumer", "_ALL_BROKERS_DOWN") == 0
    assert teller.wants("producer", "_TRANSPORT") == 0
    now = 60.0
    assert teller.wants("consumer", "_TRANSPORT") == 3
    assert teller.wants("consumer", "_TRANSPORT") is None

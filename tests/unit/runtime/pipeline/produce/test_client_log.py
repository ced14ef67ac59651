"""Connection errors are logged at a limited rate."""

from __future__ import annotations

from runtime.pipeline.produce.client_log import LogThrottle


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

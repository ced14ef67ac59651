"""Policies of automatic restarts."""

from __future__ import annotations

import pytest

from runtime.api.errors import ConfigError
from runtime.config.restart_policy import RestartPolicy, exception_names, invalid_keys, policy_of

OUTAGE = (
    "org.apache.kafka.connect.errors.ConnectException: no connection\nCaused by: sqlalchemy.exc.OperationalError: x"
)


def test_nothing_is_restarted_by_default() -> None:
    assert policy_of({"group.id": "g"}, {"tasks.max": "1"}).attempts == 0


def test_keys_of_the_connector_replace_those_of_the_worker() -> None:
    worker = {"headrace.restart.attempts": "3", "headrace.restart.delay.ms": "500"}
    policy = policy_of(worker, {"headrace.restart.attempts": "-1"})
    assert (policy.attempts, policy.delay) == (-1, 0.5)


def test_each_key_sets_its_part_of_the_policy() -> None:
    given = {"headrace.restart.attempts": "5", "headrace.restart.delay.ms": "100",
             "headrace.restart.delay.max.ms": "2000", "headrace.restart.errors": "Timeout*, a.B",
             "headrace.restart.reset.ms": "3000"}  # fmt: skip
    assert policy_of(given) == RestartPolicy(5, 0.1, 2.0, ("Timeout*", "a.B"), 3.0)


def test_delays_double_up_to_the_longest_one_and_differ_by_up_to_half() -> None:
    policy = RestartPolicy(attempts=9, delay=1.0, max_delay=5.0)
    assert [policy.delay_before(n, lambda: 1.0) for n in (1, 2, 3, 4, 9_999)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert policy.delay_before(3, lambda: 0.0) == 2.0


@pytest.mark.parametrize("trace", [
    "org.apache.kafka.common.config.ConfigException: Missing required configuration",
    "org.apache.kafka.connect.errors.ConnectException: x\nCaused by: org.apache.kafka.common.config.ConfigException: y",
    "",
])  # fmt: skip
def test_errors_of_the_configuration_are_never_covered(trace: str) -> None:
    assert not RestartPolicy(attempts=-1).covers(trace)


@pytest.mark.parametrize("pattern", ["OperationalError", "sqlalchemy.*", "*.ConnectException", "*Operational*"])
def test_a_pattern_fits_full_and_simple_names_of_causes(pattern: str) -> None:
    assert RestartPolicy(errors=(pattern,)).covers(OUTAGE)


@pytest.mark.parametrize("pattern", ["operationalerror", "exc.OperationalError", "Timeout*"])
def test_other_errors_are_not_covered(pattern: str) -> None:
    assert not RestartPolicy(errors=(pattern,)).covers(OUTAGE)


def test_names_are_found_in_java_and_python_traces() -> None:
    assert list(exception_names(OUTAGE)) == [
        "org.apache.kafka.connect.errors.ConnectException", "sqlalchemy.exc.OperationalError",
    ]  # fmt: skip
    assert list(exception_names('Traceback (most recent call last):\n  File "a", line 1\nValueError: x')) == [
        "ValueError"
    ]
    assert list(exception_names("java.io.IOException\n\tat a.B.c(D.java:1)")) == ["java.io.IOException"]


def test_invalid_keys_are_named() -> None:
    given = {"headrace.restart.attempts": "many", "headrace.restart.atempts": "1", "headrace.restart.delay.ms": "0"}
    found = dict(invalid_keys(given))
    assert set(found) == set(given)
    assert "choose from headrace.restart.attempts" in found["headrace.restart.atempts"]
    with pytest.raises(ConfigError):
        policy_of(given)

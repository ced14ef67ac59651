"""Errors of Spark as the text that a task shows."""

from __future__ import annotations

import pytest

from runtime.engine.driver.session.spark_errors import FailureKind, described, kind_of

FAILED = "[STREAM_FAILED] Query [id = 1] terminated with exception: Failed when Python perform latestOffset: "
TRACEBACK = """Traceback (most recent call last):
  File "runner.py", line 281, in main
    offset = reader.latestOffset(start)
             ^^^^^^^^^^^^^^^^^^^^^^^^^^
"""
SPARK = "=== Streaming Query ===\nIdentifier: [id = 1]\n"


def test_an_error_of_python_is_shown_instead_of_its_traceback() -> None:
    cause = f"{TRACEBACK}KeyError: 'x'\n\nThe above exception was the direct cause of the following exception:\n\n"
    error = "runtime.connectors.spark.query.TopicChangedError: Topic t1 has been deleted\n SQLSTATE: 38000\n"
    for before in ("", cause):
        text = f"{FAILED}{before}{TRACEBACK}{error}{SPARK}"
        assert described(Exception(text)) == f"{FAILED}TopicChangedError: Topic t1 has been deleted"
    called = f"An error occurred while calling o7.save.\n: Failed: {TRACEBACK}ValueError\n\tat org.apache.spark"
    assert described(Exception(called)) == "Failed: ValueError"
    worker = f"\n  An exception was thrown from the Python worker:\n{TRACEBACK}{error}"
    expected = "An exception was thrown from the Python worker: TopicChangedError: Topic t1 has been deleted"
    assert described(Exception(worker)) == expected


def test_a_list_follows_the_line_that_announces_it() -> None:
    text = "[TOO_MANY] Cannot write to `t`:\nTable columns: `a`.\nData columns: `a`, `b`. SQLSTATE: 21S01"
    expected = "[TOO_MANY] Cannot write to `t`: Table columns: `a`. Data columns: `a`, `b`. SQLSTATE: 21S01"
    assert described(Exception(f"{text}\n\tat org.apache.spark")) == expected
    assert described(Exception(f"{text}\n== SQL ==\nSELECT 1")) == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012", FailureKind.DATA),
        ("[USER_RAISED_EXCEPTION] too small SQLSTATE: P0001", FailureKind.DATA),
        ("[DUPLICATED_MAP_KEY] Duplicate map key 1 was found.\nIf you want ... SQLSTATE: 23505", FailureKind.DATA),
        ("[INCONSISTENT_BEHAVIOR_CROSS_VERSION.PARSE_DATETIME_BY_NEW_PARSER] You may ...", FailureKind.DATA),
        ("[INVALID_FORMAT.MISMATCH_INPUT] The format is invalid: 999. SQLSTATE: 42601", FailureKind.DATA),
        ("The key array and value array of MapData must have the same length.", FailureKind.DATA),
        ("[DELTA_NOT_NULL_CONSTRAINT_VIOLATED] NOT NULL constraint SQLSTATE: 23502", FailureKind.OTHER),
    ],
)
def test_errors_in_a_value_are_errors_of_its_record(text: str, kind: FailureKind) -> None:
    assert kind_of(Exception(text)) is kind

"""Stack traces in Java's shape."""

from __future__ import annotations

from runtime.api.errors import ConnectError, DataError
from runtime.pipeline.task.failure import trace_of


def test_causes_come_before_the_stack() -> None:
    try:
        try:
            raise DataError("bad bytes")
        except DataError as error:
            raise ConnectError("Tolerance exceeded in error handler") from error
    except ConnectError as error:
        lines = trace_of(error).splitlines()
    assert lines[:2] == [
        "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler",
        "Caused by: org.apache.kafka.connect.errors.DataException: bad bytes",
    ]
    assert lines[2].startswith("\tat test_causes_come_before_the_stack(")


def test_other_errors_keep_their_names() -> None:
    assert trace_of(KeyError("file")).splitlines()[0] == "KeyError: 'file'"

"""Java exceptions as the exceptions of our API."""

from __future__ import annotations

import pytest

from runtime.api.errors import ConnectError, DataError, RetriableError, UnsupportedOffsetsError
from runtime.java.errors import java_error

_CONNECT = "org.apache.kafka.connect.errors."


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        (["a.Own", f"{_CONNECT}RetriableException", f"{_CONNECT}ConnectException"], RetriableError),
        ([f"{_CONNECT}DataException", f"{_CONNECT}ConnectException"], DataError),
        (["java.lang.UnsupportedOperationException", "java.lang.RuntimeException"], UnsupportedOffsetsError),
        (["a.Other", "java.lang.RuntimeException"], ConnectError),
    ],
)
def test_the_closest_class_decides(classes: list[str], expected: type[ConnectError]) -> None:
    error = java_error([classes[0], "text", "trace", classes])
    assert isinstance(error, expected)
    assert type(error).java_name == classes[0]
    assert str(error) == "text"

"""Stack traces in Java's shape."""

from __future__ import annotations

import gc
import weakref

from runtime.api.errors import ConnectError, DataError
from runtime.pipeline.task.failure import drop_tracebacks, trace_of


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


def test_errors_that_somebody_keeps_keep_no_frames() -> None:
    class Client:
        pass

    def fails() -> None:
        client = Client()
        clients.append(weakref.ref(client))
        raise DataError("refused")

    def fails_for_that_reason() -> None:
        try:
            fails()
        except DataError as error:
            kept.append(error)
            raise ConnectError("lost") from None

    clients: list[weakref.ref[Client]] = []
    kept: list[Exception] = []
    try:
        fails_for_that_reason()
    except ConnectError as error:
        kept.append(error)
        drop_tracebacks(error)
    gc.collect()
    assert len(kept) == 2 and clients[0]() is None

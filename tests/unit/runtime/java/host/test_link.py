"""Frames between this process and its JVM."""

from __future__ import annotations

import socket
import threading

import pytest

from runtime.java.host.link import receive_frame
from runtime.system.scheduling import Delay, RunLimit
from tests.support.engine.starvation import Starved

LIMIT = 0.2  # seconds


def answer(delay: type[Delay]) -> bytes:
    """The answer of a JVM that needs three times the limit of a call, and has this delay."""
    near, far = socket.socketpair()
    limit = RunLimit(LIMIT, (), delay=delay)
    near.settimeout(limit.pause)
    jvm = threading.Timer(LIMIT * 3, far.sendall, (b"\x02\0\0\0ok",))
    jvm.start()
    try:
        return receive_frame(near, str, limit)
    finally:
        jvm.join()
        near.close()
        far.close()


def test_a_jvm_that_does_not_answer_in_time() -> None:
    with pytest.raises(TimeoutError):
        answer(Delay)


def test_a_jvm_that_waits_for_a_processor_has_more_time() -> None:
    assert answer(Starved) == b"ok"

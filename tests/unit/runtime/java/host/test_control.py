"""The control link of a JVM that does not read, or sends nonsense."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from runtime.java.host.class_names import ClassNames
from runtime.java.host.control import ControlLink
from runtime.java.host.link import receive_frame, send_frame
from runtime.java.wire.reader import FrameReader, SchemaReader
from runtime.java.wire.writer import FrameWriter
from tests.support.waiting import wait_until

_LARGE = "x" * 8_000_000


def test_orders_do_not_wait_for_a_jvm_that_does_not_read() -> None:
    ours, jvm = socket.socketpair()
    jvm.settimeout(10)
    link = ControlLink(ours, ClassNames(), {"root": "WARN"})
    assert _received(jvm) == [{}, {}]
    assert _received(jvm) == ["level", "root", "WARN"]
    asked: list[str] = []

    def answer(name: str, argument: Any) -> str:
        asked.append(name)
        return _LARGE

    link.register(7, answer)
    request = FrameWriter()
    request.value([1, 7, "offsets", None])
    send_frame(jvm, request.frame(with_schemas=False), str)
    wait_until(link._writing.locked, 10)
    orders = threading.Thread(target=_order, args=(link,), daemon=True)
    orders.start()
    orders.join(30)
    assert not orders.is_alive()
    assert asked == ["offsets"]
    received = [_received(jvm) for _ in range(3)]
    assert received[0] == ["answer", 1, None, _LARGE]
    if len(received[1]) == 3:  # the first order was already being sent
        assert received.pop(1) == ["level", "a", "INFO"]
        received.append(_received(jvm))
    assert received[1:] == [["interrupt", 7], ["level", "a", "TRACE"]]
    jvm.close()
    wait_until(lambda: link._ended, 10)


def _order(link: ControlLink) -> None:
    for level in ("INFO", "DEBUG"):
        link.set_levels({"a": level})
    link.interrupt(7)
    link.set_levels({"a": "TRACE"})


def _received(jvm: socket.socket) -> Any:
    return FrameReader(receive_frame(jvm, str), SchemaReader()).value()


def test_a_frame_that_cannot_be_read_ends_the_link_and_with_it_the_jvm(caplog: pytest.LogCaptureFixture) -> None:
    ours, jvm = socket.socketpair()
    jvm.settimeout(10)
    link = ControlLink(ours, ClassNames(), {})
    assert _received(jvm) == [{}, {}]
    jvm.sendall(b"\x01\x00\x00\x00\xff")
    assert jvm.recv(1) == b""
    wait_until(lambda: link._ended, 10)
    assert "invalid frame" in caplog.text

"""Choosing ports."""

from __future__ import annotations

import socket

from runtime.embedded.processes import ports


def test_a_port_in_use_is_not_chosen() -> None:
    for host in ("127.0.0.1", "0.0.0.0"):
        with socket.socket() as taken:
            taken.bind((host, 0))
            taken.listen()
            port = taken.getsockname()[1]
            assert ports.choose(port) != port


def test_the_preferred_port_is_chosen_if_free() -> None:
    port = ports.choose()
    assert ports.choose(port) == port
    assert not ports.is_open(port)

"""Sockets on all addresses of a name, with loopback addresses of both families."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from runtime.system.listening import listen

V4, V6 = ("127.0.0.1", 0), ("::1", 0, 0, 0)
ELSEWHERE = ("192.0.2.1", 0)  # reserved for documentation (RFC 5737)


def _resolve(monkeypatch: pytest.MonkeyPatch, *addresses: tuple[str | int, ...]) -> None:
    """Have every name resolve to these addresses."""
    found = [(socket.AF_INET6 if len(a) == 4 else socket.AF_INET, socket.SOCK_STREAM, 6, "", a) for a in addresses]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **keywords: found)


def _accepts(address: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with closing(socket.socket(family)) as client:
        client.settimeout(30)
        return client.connect_ex((address, port)) == 0


def _has_ipv6() -> bool:
    """Whether this system has the address ::1: IPv6 may be compiled in, but switched off."""
    try:
        with closing(socket.socket(socket.AF_INET6)) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not _has_ipv6(), reason="this system has no IPv6")
def test_all_addresses_of_a_name_listen_on_one_port(monkeypatch: pytest.MonkeyPatch) -> None:
    _resolve(monkeypatch, V6, V4, V4)
    listeners = listen("both", 0, 1)
    addresses = {listener.getsockname()[0] for listener in listeners}
    ports = {listener.getsockname()[1] for listener in listeners}
    assert len(ports) == 1 and "127.0.0.1" in addresses
    assert all(_accepts(address, *ports) for address in addresses)
    for listener in listeners:
        listener.close()


def test_addresses_of_other_machines_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    _resolve(monkeypatch, ELSEWHERE, V4)
    (listener,) = listen("several", 0, 1)
    with listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_a_name_without_an_address_of_this_machine_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    _resolve(monkeypatch, ELSEWHERE)
    with pytest.raises(OSError):
        listen("elsewhere", 0, 1)


def test_a_port_that_is_in_use_on_one_address_is_an_error_and_frees_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        _resolve(monkeypatch, ("127.0.0.2", port), ("127.0.0.1", port))
        with pytest.raises(OSError):
            listen("both", port, 1)
        assert not _accepts("127.0.0.2", port)

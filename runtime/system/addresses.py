"""The address under which other machines reach this one."""

from __future__ import annotations

import ipaddress
import socket

LOOPBACK = "127.0.0.1"
_ELSEWHERE = ("192.0.2.1", 9)  # reserved for documentation (RFC 5737); connecting a UDP socket sends nothing


def own_address() -> str:
    """The IPv4 address of the machine's name; if that is a loopback address, the address of the default route, or
    loopback if there is no route."""
    return next((a for a in (*_of_name(socket.gethostname()), *_of_route()) if is_remote(a)), LOOPBACK)


def is_remote(address: str) -> bool:
    """Whether other machines may reach this address."""
    found = ipaddress.ip_address(address)
    return not (found.is_loopback or found.is_link_local or found.is_unspecified)


def _of_name(name: str) -> list[str]:
    try:
        return [str(found[4][0]) for found in socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)]
    except OSError:
        return []


def _of_route() -> list[str]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
        except OSError:
            return []
        return [str(probe.getsockname()[0])]

"""The machine's own address."""

from __future__ import annotations

import ipaddress
import socket

import pytest

from runtime.config.listeners import LOOPBACK, is_remote, own_address


def test_the_own_address_belongs_to_this_machine() -> None:
    with socket.socket() as listening:
        listening.bind((own_address(), 0))  # fails for addresses of other machines
    assert ipaddress.ip_address(own_address()).version == 4


def test_a_loopback_address_is_used_only_if_there_is_no_other() -> None:
    assert is_remote(own_address()) or own_address() == LOOPBACK


@pytest.mark.parametrize(
    ("address", "expected"),
    [("127.0.1.1", False), ("169.254.1.1", False), ("0.0.0.0", False), ("::1", False), ("10.0.0.1", True)],
)
def test_addresses_that_other_machines_cannot_reach(address: str, expected: bool) -> None:
    assert is_remote(address) is expected

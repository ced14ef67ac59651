"""Connections of kafka-python to the addresses of a host in turn: by itself it starts with the same one each time, and
an address that does not respond takes all the time of an attempt."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kafka.net.inet import KafkaNetSocket

_plain: Any = KafkaNetSocket()
_attempts = Counter[str]()  # by host


class AddressesInTurn:
    """kafka-python finds the class by the scheme of its setting `proxy_url`."""

    SCHEMES = ("addresses-in-turn",)
    connect = _plain.connect

    def dns_lookup(self, host: str, port: int) -> list[Any]:
        """The addresses, with another one first than before."""
        addresses: list[Any] = _plain.dns_lookup(host, port)
        _attempts[host] += 1
        first = _attempts[host] % max(len(addresses), 1)
        return addresses[first:] + addresses[:first]


KafkaNetSocket.register_class(AddressesInTurn)

IN_TURN = {"proxy_url": "addresses-in-turn://"}
"""A setting of kafka-python."""

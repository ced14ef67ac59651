"""Connections of kafka-python to the addresses of a host: by itself it starts with the same one each time, and an
address that does not respond takes all the time of an attempt."""

from __future__ import annotations

import time
from typing import Any

from kafka import cluster
from kafka.net.inet import KafkaNetSocket

_plain: Any = KafkaNetSocket()
_failed: dict[Any, float] = {}  # addresses, and when they failed (time.monotonic())
_connected: dict[str, Any] = {}  # the last address by host


class FailedAddressesLast:
    """kafka-python finds the class by the scheme of its setting `proxy_url`. One object connects to one host."""

    SCHEMES = ("failed-addresses-last",)

    def dns_lookup(self, host: str, port: int) -> list[Any]:
        """The addresses in the resolver's order, then those that have failed, the last one last. An address that works
        is kept: the connection that follows a bootstrap must not try another one."""
        self._host = host
        return sorted(_plain.dns_lookup(host, port), key=lambda address: _failed.get(address[4], 0.0))

    async def connect(self, net: Any, address: Any, *args: Any, **options: Any) -> Any:
        """A socket that is connected to this address."""
        connected = None
        try:
            connected = await _plain.connect(net, address, *args, **options)
            _connected[self._host] = address[4]
            return connected
        finally:
            if connected is None:  # also if the request has ended first
                _failed[address[4]] = time.monotonic()


def no_response(server: str) -> None:
    """The address to which a client of this server (host:port) has last connected may accept connections, but does not
    respond."""
    host = cluster.collect_hosts(server)[0][0]
    if host in _connected:
        _failed[_connected[host]] = time.monotonic()


KafkaNetSocket.register_class(FailedAddressesLast)

FAILED_LAST = {"proxy_url": "failed-addresses-last://"}
"""A setting of kafka-python."""

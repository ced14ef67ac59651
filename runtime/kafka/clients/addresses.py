"""The addresses of `bootstrap.servers`, checked as Java's clients check them when they are created."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

from runtime.config.properties import comma_separated
from runtime.kafka.errors import ClientConfigError

_ADDRESS = re.compile(r"(?:.*?://)?\[?([0-9a-zA-Z\-%._:]*)]?:([0-9]+)")
_resolved: set[str] = set()
"""Hosts that have been resolved in this process: a later failure of the name server is an outage, not a mistake."""


def servers(text: str) -> dict[str, str]:
    """The setting with these addresses, which are separated by commas. ValueError names an address without a host or
    port."""
    for _ in _hosts(text):
        pass
    return {"bootstrap.servers": text}


def check_resolvable(text: str) -> None:
    """ClientConfigError if the name server knows none of the hosts. Hosts that it cannot look up now may exist: the
    client tries them again. Blocks."""
    hosts = list(_hosts(text))
    if not any(map(_may_exist, hosts)):
        raise ClientConfigError(
            f"No resolvable bootstrap urls given in bootstrap.servers: the name server does not know {', '.join(hosts)}"
        )


def _hosts(text: str) -> Iterator[str]:
    for address in comma_separated(text):
        match = _ADDRESS.fullmatch(address)
        if match is None or not match[1]:
            raise ValueError(f"Invalid url in bootstrap.servers: {address}; expected host:port")
        yield match[1]


def _may_exist(host: str) -> bool:
    if host in _resolved:
        return True
    try:
        socket.getaddrinfo(host, None)
    except socket.gaierror as error:
        return error.errno not in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", None))
    except UnicodeError:  # a label that is empty or too long
        return False
    _resolved.add(host)
    return True

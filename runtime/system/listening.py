"""Listening sockets on all addresses of a name."""

from __future__ import annotations

import contextlib
import errno
import socket

_ABSENT = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)  # an address of another machine, or a family that is switched off
_CHOICES = 5  # ports that are tried if the system chooses: one may be in use on another address of the name


def listen(host: str, port: int, backlog: int) -> list[socket.socket]:
    """A socket for each address of `host`, all on the same port (0: the system chooses). Addresses that this machine
    does not have are skipped, unless it has none of them. OSError if an address cannot be used."""
    for _ in range(0 if port else _CHOICES - 1):
        with contextlib.suppress(OSError):
            return _listen(host, port, backlog)
    return _listen(host, port, backlog)


def _listen(host: str, port: int, backlog: int) -> list[socket.socket]:
    infos = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    absent, listeners = OSError(errno.EADDRNOTAVAIL, f"{host} has no address"), list[socket.socket]()
    try:
        for family, address in dict.fromkeys((family, address) for family, _, _, _, address in infos):
            place = (address[0], port, *address[2:])
            try:
                listener = socket.create_server(place, family=family, backlog=backlog)
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                absent = error
                continue
            listeners.append(listener)
            port = listener.getsockname()[1]
        if not listeners:
            raise absent
    except OSError:
        for listener in listeners:
            listener.close()
        raise
    return listeners

"""The sockets of a process, from /proc."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from pathlib import Path

_LISTENING = "0A"
_UNIX_LISTENING = 0x10000  # __SO_ACCEPTCON


def listening_ports(pid: int) -> list[int]:
    """The TCP ports on which a process listens."""
    return sorted({port for _, port in listening_addresses(pid)})


def listening_addresses(pid: int) -> set[tuple[str, int]]:
    """The TCP addresses on which a process listens."""
    own = _inodes(pid)
    fields = (line.split() for table in ("tcp", "tcp6") for line in _lines(pid, table))
    listening = (place[1].rpartition(":") for place in fields if place[3] == _LISTENING and place[9] in own)
    return {(_address(host), int(port, 16)) for host, _, port in listening}


def listening_paths(pid: int) -> set[Path]:
    """The Unix sockets on which a process listens."""
    own = _inodes(pid)
    sockets = (line.split(maxsplit=7) for line in _lines(pid, "unix"))
    return {Path(found[7]) for found in sockets if int(found[3], 16) & _UNIX_LISTENING and found[6] in own}


def connection_timers(pid: int, port: int) -> list[str]:
    """The kinds of the timers of connections to this port of 127.0.0.1, as in Linux's `proc_net_tcp`."""
    rows = (line.split() for line in _lines(pid, "tcp"))
    return [row[5][:2] for row in rows if row[2].endswith(f":{port:04X}")]


def _address(kernels: str) -> str:
    """The kernel writes words of the machine's byte order, which is little-endian on all machines of the tests."""
    words = bytes.fromhex(kernels)
    data = b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))
    address = ipaddress.ip_address(data)
    return str(getattr(address, "ipv4_mapped", None) or address)  # JVMs use IPv6 sockets for both families


def _lines(pid: int, table: str) -> list[str]:
    return Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]


def _inodes(pid: int) -> set[str]:
    return {target.removeprefix("socket:[").rstrip("]") for target in _targets(pid) if target.startswith("socket:")}


def _targets(pid: int) -> Iterator[str]:
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            yield str(entry.readlink())
        except OSError:
            continue  # closed meanwhile

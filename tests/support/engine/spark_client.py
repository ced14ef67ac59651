"""A client of Spark's ports that knows the protocol (org.apache.spark.network.protocol), but not the secret."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable
from pathlib import Path

_LISTENING = "0A"
_RPC_REQUEST, RPC_FAILURE = 3, 5
_OPEN_BLOCKS = 0


def listening_ports(pid: int) -> list[int]:
    """The TCP ports on which a process listens."""
    own = set()
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            own.add(str(entry.readlink()))
        except OSError:
            continue  # closed meanwhile
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTENING and f"socket:[{fields[9]}]" in own:
                ports.add(int(fields[1].rpartition(":")[2], 16))
    return sorted(ports)


def open_blocks(port: int, *blocks: str) -> tuple[int, bytes]:
    """Requests blocks from a block manager. Returns type and content of the answer; type 0 if the connection closed."""
    message = bytes([_OPEN_BLOCKS]) + _text("app") + _text("driver") + struct.pack(">i", len(blocks))
    message += b"".join(map(_text, blocks))
    header = struct.pack(">bqi", _RPC_REQUEST, 875, len(message))
    answer = _answer(port, struct.pack(">q", 8 + len(header) + len(message)) + header + message, _is_whole)
    return (answer[8], answer[9:]) if len(answer) > 8 else (0, answer)


def gateway_command(port: int) -> bytes:
    """The answer to a command to Py4J's gateway; empty if the port closes the connection."""
    return _answer(port, b"c\nj\nrj\ne\n", lambda received: received.endswith(b"\n"))


def _is_whole(received: bytes) -> bool:
    return len(received) > 8 and len(received) >= struct.unpack(">q", received[:8])[0]


def _answer(port: int, request: bytes, is_whole: Callable[[bytes], bool]) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request)
        received = b""
        with contextlib.suppress(ConnectionError):
            while not is_whole(received) and (chunk := connection.recv(65536)):
                received += chunk
    return received


def _text(value: str) -> bytes:
    return struct.pack(">i", len(value)) + value.encode()

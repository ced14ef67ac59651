"""A client of Spark's ports that knows the protocol (org.apache.spark.network.protocol), but not the secret."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable

_RPC_REQUEST, RPC_FAILURE = 3, 5
_OPEN_BLOCKS = 0


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

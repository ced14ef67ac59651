"""A TLS handshake between two contexts in this process."""

from __future__ import annotations

import socket
import ssl
import threading


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str = "127.0.0.1") -> str | None:
    """The negotiated protocol. Raises ssl.SSLError or OSError if either side refuses the other."""
    ours, theirs = socket.socketpair()

    def serve() -> None:
        try:
            with server.wrap_socket(ours, server_side=True) as s:
                s.sendall(b"x")
        except OSError:
            ours.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(theirs, server_hostname=name) as s:
            if s.recv(1) != b"x":  # the server refuses a certificate after the client's part of the handshake
                raise ssl.SSLError("closed")
            return s.version()
    finally:
        thread.join(30)

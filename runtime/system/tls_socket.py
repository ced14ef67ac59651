"""A TLS connection to a server with a known certificate, for a thread that reads and others that write.

Python's own TLS sockets block both directions with one call. Here only the encryption itself is locked, and the system
calls are not.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import io
import select
import socket
import ssl
import threading
from typing import Any, BinaryIO

_CHUNK = 256 * 1024
_HANG_UP = getattr(select, "POLLRDHUP", select.POLLHUP)


class PinError(ConnectionError):
    """The server has another certificate than expected."""


class TlsSocket:
    """Reading and writing are thread-safe against each other; writers may be any number of threads."""

    def __init__(self, host: str, port: int, fingerprint: str, timeout: float) -> None:
        """Connect within `timeout` seconds. PinError unless `fingerprint` is the SHA-256 of the server's certificate
        in hexadecimal digits, whatever its names and dates are; OSError if the connection fails."""
        self._socket = socket.create_connection((host, port), timeout)
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = _context().wrap_bio(self._incoming, self._outgoing)
        self._state, self._sending = threading.Lock(), threading.Lock()
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._handshake()
            self._check(fingerprint)
        except BaseException:
            self._socket.close()
            raise
        self._socket.settimeout(None)
        self.stream: BinaryIO = io.BufferedReader(_Reader(self), _CHUNK)

    @property
    def closed(self) -> bool:
        """Whether the other end has closed the connection, even if data are still unread. Never blocks. Thread-safe."""
        hang_up = select.poll()  # a new one: two threads cannot use the same
        try:
            hang_up.register(self._socket, _HANG_UP)
        except ValueError:  # closed here
            return True
        return bool(hang_up.poll(0))

    def settimeout(self, seconds: float | None) -> None:
        """Let reads and writes that take longer fail with TimeoutError."""
        self._socket.settimeout(seconds)

    def sendall(self, data: bytes) -> None:
        """Blocks until the system has taken the data. OSError if the connection is closed."""
        view = memoryview(data)
        with self._sending:
            for start in range(0, len(view), _CHUNK):
                with self._state:
                    self._tls.write(view[start : start + _CHUNK])
                    encrypted = self._outgoing.read()
                self._socket.sendall(encrypted)

    def readinto(self, buffer: memoryview) -> int:
        """Read at least one byte, blocking; 0 at the end of the stream."""
        while True:
            with self._state:
                try:
                    count: Any = self._tls.read(len(buffer), buffer)
                    return int(count)
                except ssl.SSLWantReadError:
                    pass
                except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                    return 0
            self._receive()

    def shutdown(self) -> None:
        """End the connection; a thread that reads or writes gets the end of the stream or OSError."""
        with contextlib.suppress(OSError):  # the other end has closed it
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Release the socket."""
        self._socket.close()

    def _handshake(self) -> None:
        while True:
            try:
                self._tls.do_handshake()
            except ssl.SSLWantReadError:
                self._socket.sendall(self._outgoing.read())
                self._receive()
                continue
            self._socket.sendall(self._outgoing.read())
            return

    def _check(self, fingerprint: str) -> None:
        actual = hashlib.sha256(self._tls.getpeercert(binary_form=True) or b"").hexdigest()
        if not hmac.compare_digest(actual, fingerprint):
            raise PinError("the server's certificate is not the expected one")

    def _receive(self) -> None:
        data = self._socket.recv(_CHUNK)
        with self._state:
            if data:
                self._incoming.write(data)
            else:
                self._incoming.write_eof()


class _Reader(io.RawIOBase):
    """The decrypted stream."""

    def __init__(self, connection: TlsSocket) -> None:
        self._connection = connection

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # the buffer of BufferedReader
        return self._connection.readinto(buffer)


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False  # the certificate is pinned instead
    context.verify_mode = ssl.CERT_NONE
    return context

"""A listener that connects its clients to several servers in turn, as a load balancer in front of workers does."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


@contextmanager
def round_robin(urls: Sequence[str]) -> Iterator[str]:
    """The URL of a listener whose connections go to these servers one after another, byte for byte."""
    targets = itertools.cycle([(split.hostname or "", split.port or 80) for split in map(urlsplit, urls)])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener, targets), name="round-robin", daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # ends accept()


def _accept(listener: socket.socket, targets: Iterator[tuple[str, int]]) -> None:
    while True:
        try:
            client, _ = listener.accept()
        except OSError:  # closed
            return
        try:
            server = socket.create_connection(next(targets), 10)
        except OSError:
            client.close()
            continue
        server.settimeout(None)
        for source, target in ((client, server), (server, client)):
            threading.Thread(target=_copy, args=(source, target), daemon=True).start()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)

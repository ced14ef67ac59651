"""An HTTP proxy that delays the requests of one method, so that a test can kill the client meanwhile."""

from __future__ import annotations

import http.client
import threading
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from urllib.parse import urlsplit

from tests.support.servers.loopback import Handler, LoopbackServer


class DelayingProxy:
    """Forwards all requests except those of the held method."""

    def __init__(self, url: str) -> None:
        self._there = urlsplit(url)
        self._method = ""
        self._held, self._go = threading.Event(), threading.Event()
        self._send = True
        proxy = self

        class Forwards(Handler):
            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                proxy.forward(self, self.body())
                self.close_connection = True

        self._server = LoopbackServer(Forwards)
        self.url = self._server.url

    def __enter__(self) -> DelayingProxy:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._go.set()
        self._server.close()

    def hold(self, method: str) -> None:
        self._held.clear()
        self._go.clear()
        self._method = method

    def wait_held(self) -> None:
        assert self._held.wait(90), f"no {self._method} request arrived"

    def release(self, send: bool) -> None:
        """Forwards the held request to the worker, or drops it."""
        self._send, self._method = send, ""
        self._go.set()

    def forward(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        if request.path == "/events":  # a stream without an end
            request.wfile.write(b"HTTP/1.1 404 -\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        if request.command == self._method:
            self._held.set()
            self._go.wait(120)
            if not self._send:
                return
        connection = http.client.HTTPConnection(self._there.hostname or "", self._there.port, timeout=120)
        headers = {name: value for name, value in request.headers.items() if name.lower() != "host"}
        connection.request(request.command, request.path, body or None, {**headers, "Connection": "close"})
        answer = connection.getresponse()
        content = answer.read()
        kind = answer.getheader("Content-Type", "application/json")
        head = (f"HTTP/1.1 {answer.status} -", f"Content-Type: {kind}", f"Content-Length: {len(content)}")
        request.wfile.write("\r\n".join((*head, "Connection: close", "", "")).encode() + content)
        connection.close()

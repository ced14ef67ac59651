"""A token endpoint on loopback, which issues tokens without a signature and records what it was asked."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl


def unsigned_token(subject: str, seconds: float = 3600.0, **claims: Any) -> str:
    """A JWT that a broker with Kafka's unsecured validator accepts."""
    now = time.time()
    document = {"sub": subject, "iat": now, "exp": now + seconds, **claims}
    return ".".join((encoded({"alg": "none"}), encoded(document), ""))


def encoded(document: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()


@dataclass(slots=True)
class TokenEndpoint:
    """`requests`: the form of each request, with `user` of its header. `failures`: statuses of the next responses."""

    url: str
    seconds: float = 3600.0
    requests: list[dict[str, str]] = field(default_factory=list)
    failures: list[int] = field(default_factory=list)
    token: str | None = None


@contextmanager
def token_endpoint(tls: ssl.SSLContext | None = None) -> Iterator[TokenEndpoint]:
    """The user of a request is the subject of the token; its password has to be the user's name and `-secret`."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    endpoint = TokenEndpoint(f"http{'s' if tls else ''}://127.0.0.1:{server.server_port}/token")
    server.endpoint = endpoint
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    endpoint: TokenEndpoint


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        endpoint = self.server.endpoint
        form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        basic = self.headers.get("Authorization", "Basic ").partition(" ")[2]
        user, _, password = base64.b64decode(basic).decode().partition(":")
        endpoint.requests.append({**form, "user": user})
        if endpoint.failures:
            self._respond(endpoint.failures.pop(0), {"error": "busy"})
        elif "assertion" not in form and password != f"{user}-secret":
            self._respond(401, {"error": "invalid_client", "error_description": "unknown client"})
        else:
            token = endpoint.token or unsigned_token(user or "asserted", endpoint.seconds)
            self._respond(200, {"access_token": token, "token_type": "Bearer"})

    def _respond(self, status: int, document: dict[str, str]) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        return

"""A token endpoint on loopback, which issues tokens without a signature and records what it was asked."""

from __future__ import annotations

import base64
import json
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from tests.support.servers.loopback import Handler, serving


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
    endpoint = TokenEndpoint("")
    with serving(type("Answers", (_Answers,), {"endpoint": endpoint}), tls) as server:
        endpoint.url = f"{server.url}/token"
        yield endpoint


class _Answers(Handler):
    endpoint: TokenEndpoint

    def do_POST(self) -> None:
        endpoint = self.endpoint
        form = dict(parse_qsl(self.body().decode()))
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
        self.respond(status, json.dumps(document).encode(), "application/json")

"""Protects a worker that browsers can reach from cross-site requests and DNS rebinding.

A web page may send simple requests to any address, and its owner can point a host name at this worker, so that browsers
treat the worker as part of the page's site. Therefore requests without authentication must use a known host name.
Changes are accepted only from the worker's own pages, from allowed origins, and from clients other than browsers.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from runtime.herder.errors import BadRequest, Forbidden, HerderError
from runtime.rest.http.responses import error
from runtime.rest.security.access import READ_ONLY

KEY = "headrace.allowed.hosts"


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Host names by which clients may address the worker: its own, loopback, any IP address, and the configured ones
    (`*` is a wildcard)."""

    own: frozenset[str]
    configured: re.Pattern[str] | None

    @classmethod
    def of(cls, own: Iterable[str], configured: Iterable[str]) -> AllowedHosts:
        patterns = [re.escape(name.lower()).replace(r"\*", ".*") for name in configured]
        machine = socket.gethostname().lower()
        names = {"localhost", machine, machine.partition(".")[0], *(name.lower() for name in own if name)}
        return cls(frozenset(names), re.compile("|".join(patterns)) if patterns else None)

    def is_configured(self, host: str) -> bool:
        """Whether the host is one of the configured names."""
        return self.configured is not None and self.configured.fullmatch(host) is not None

    def __contains__(self, host: str) -> bool:
        return host in self.own or host.endswith(".localhost") or _is_address(host) or self.is_configured(host)


def _is_address(host: str) -> bool:
    """IP addresses are safe, since DNS rebinding needs a host name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class BrowserGuard:
    """Refuses requests that a browser sends for a web page of another site."""

    def __init__(self, app: ASGIApp, hosts: AllowedHosts, origins: str, check_host: bool) -> None:
        """`origins` is a regular expression of the origins that CORS allows, empty if it allows none."""
        self._app, self._hosts, self._check_host = app, hosts, check_host
        self._origins = re.compile(origins) if origins else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                self._check(scope["method"], Headers(scope=scope))
            except HerderError as e:
                await error(e.status, str(e))(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, method: str, headers: Headers) -> None:
        host = headers.get("host", "")
        if self._check_host and host and _hostname(host) not in self._hosts:
            raise Forbidden(f"Host '{host}' is not a name of this worker; add it to {KEY} to allow it")
        origin = headers.get("origin")
        if origin is not None and method not in READ_ONLY and not self._is_own(origin, host):
            raise Forbidden(
                f"Changes from pages of '{origin}' are refused: access.control.allow.origin or {KEY} can allow them"
            )

    def _is_own(self, origin: str, host: str) -> bool:
        if self._origins is not None and self._origins.fullmatch(origin):
            return True
        site = origin.partition("://")[2].lower()
        return bool(site) and (site == host.lower() or self._hosts.is_configured(_hostname(site)))


def _hostname(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        raise BadRequest(f"'{host}' is not a valid host") from None

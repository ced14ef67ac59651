"""Listeners of the REST API, and the address that it advertises to other workers."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from runtime.api.errors import ConfigError
from runtime.config.properties import with_prefix

LOOPBACK = "127.0.0.1"
_ELSEWHERE = ("192.0.2.1", 9)  # reserved for documentation (RFC 5737); connecting a UDP socket sends nothing


def own_address() -> str:
    """The IPv4 address of the machine's name; if that is a loopback address, the address of the default route, or
    loopback if there is no route."""
    return next((a for a in (*_of_name(socket.gethostname()), *_of_route()) if is_remote(a)), LOOPBACK)


def is_remote(address: str) -> bool:
    """Whether other machines may reach this address."""
    ip = ipaddress.ip_address(address)
    return not (ip.is_loopback or ip.is_link_local or ip.is_unspecified)


def _of_name(name: str) -> list[str]:
    try:
        return [str(info[4][0]) for info in socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)]
    except OSError:
        return []


def _of_route() -> list[str]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_ELSEWHERE)
        except OSError:
            return []
        return [str(probe.getsockname()[0])]


_EVERYWHERE = ("", "0.0.0.0", "::")
_HTTPS = "listeners.https."
_HOST = re.compile(r"[\w.-]+|[0-9A-Fa-f:.]+(%[\w.-]+)?")


class ListenerError(ConfigError):
    """A listener is invalid; the message names the key and the remedy."""


@dataclass(frozen=True, slots=True)
class Listener:
    """An address to listen on; an empty host means all interfaces, port 0 any free port."""

    scheme: str  # "http" | "https"
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Advertised:
    """The advertised address. A host or port of None means the listener's own, and the machine's address if it listens
    on all interfaces."""

    scheme: str
    host: str | None
    port: int | None

    def url(self, listener: Listener, bound_port: int, machine: Callable[[], str] = own_address) -> str:
        """The advertised URL, given the port to which the listener was bound. `machine` returns the address of this
        machine."""
        host = self.host or (listener.host if listener.host not in _EVERYWHERE else machine())
        return f"{self.scheme}://{f'[{host}]' if ':' in host else host}:{self.port or bound_port}"


def parse(key: str, values: Sequence[str]) -> tuple[Listener, ...]:
    """The listeners in a property; ListenerError if it is empty or a listener is invalid."""
    if not values:
        raise ListenerError(f"{key} is empty; expected http://HOST:PORT or https://HOST:PORT")
    return tuple(_listener(key, value.strip()) for value in values)


def admin(values: Sequence[str] | None) -> tuple[Listener, ...] | None:
    """Listeners for /admin only; None if `listeners` serve /admin, empty if /admin is disabled."""
    if values is None:
        return None
    return parse("admin.listeners", values) if [v for v in values if v.strip()] else ()


def advertised(values: Mapping[str, Any], listeners: Sequence[Listener]) -> Advertised:
    """The advertised protocol, as in Apache's worker: the configured protocol, else http if a listener uses it."""
    schemes = [listener.scheme for listener in listeners]
    scheme = (values["rest.advertised.listener"] or ("http" if "http" in schemes else "https")).lower()
    if scheme not in schemes:
        raise ListenerError(f"rest.advertised.listener={scheme}: `listeners` has no {scheme} listener; add one")
    host, port = (values["rest.advertised.host.name"] or "").strip("[]"), values["rest.advertised.port"]
    if host and not _HOST.fullmatch(host):
        raise ListenerError(f"rest.advertised.host.name={host}: expected a host name or an IP address, without a port")
    if port is not None and not 0 < port < 1 << 16:
        raise ListenerError(f"rest.advertised.port={port}: expected a number from 1 to 65535")
    return Advertised(scheme, host or None, port)


def https_settings(props: Mapping[str, str], prefix: str = _HTTPS) -> dict[str, str]:
    """The `ssl.*` settings of https listeners: the settings with the prefix if there are any, else the worker's own."""
    own = with_prefix(props, prefix)
    return {k: v for k, v in (own or props).items() if k.startswith("ssl.")}


def _listener(key: str, value: str) -> Listener:
    try:
        url = urlsplit(value)
        port = url.port
    except ValueError:
        raise ListenerError(f"{key}={value}: the port is not a number") from None
    scheme = url.scheme.lower()
    if scheme not in ("http", "https") or port is None:
        raise ListenerError(f"{key}={value}: expected http://HOST:PORT or https://HOST:PORT")
    return Listener(scheme, url.hostname or "", port)

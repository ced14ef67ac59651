"""The HTTP proxy of an endpoint: the context's, or the environment's. Both transports ask here, so that scripts and the
screen take the same way."""

from __future__ import annotations

import os
from ipaddress import ip_address, ip_network
from urllib.parse import SplitResult, unquote, urlsplit

from tui.errors import UsageError
from tui.wire.endpoint import Endpoint, basic_credentials

SCHEMES = ("http", "https")


def proxy_of(endpoint: Endpoint) -> SplitResult | None:
    """The context's proxy, or the environment's for this host; None for a direct connection. Raises UsageError."""
    if endpoint.proxy:
        return None if endpoint.proxy == "none" else _parts(endpoint.proxy, "the context's proxy")
    if endpoint.is_local or not any(name.lower().endswith("_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies

    proxies = getproxies()
    scheme = endpoint.parts.scheme
    name = scheme if proxies.get(scheme) else "all"
    if not proxies.get(name) or _is_excluded(endpoint.parts, proxies.get("no", "")):
        return None
    return _parts(proxies[name], f"{name.upper()}_PROXY of the environment")


def proxy_url(url: str) -> str | None:
    """The environment's proxy for another server than a worker, as an argument of httpx. Raises UsageError, and
    ValueError for an invalid URL."""
    proxy = proxy_of(Endpoint(url))
    return None if proxy is None else proxy.geturl()


def credentials(proxy: SplitResult | None) -> dict[str, str]:
    """The header with the proxy's user and password."""
    if proxy is None or not proxy.username:
        return {}
    return {"Proxy-Authorization": basic_credentials(unquote(proxy.username), unquote(proxy.password or ""))}


def _parts(url: str, origin: str) -> SplitResult:
    """The URL of a proxy, in which the scheme may be missing. The error does not quote it: it may hold a password."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        valid = bool(parts.hostname and parts.hostname.strip()) and parts.port != 0
    except ValueError:  # the port
        valid = False
    if parts.scheme not in SCHEMES or not valid:
        kind = f"is a proxy of type {parts.scheme}" if parts.scheme not in SCHEMES else "is not a valid URL"
        raise UsageError(
            f"{origin} {kind}",
            'use one like http://proxy:3128; for a direct connection add the host to NO_PROXY, or set proxy = "none" '
            "in the context",
        )
    return parts


def _is_excluded(parts: SplitResult, excluded: str) -> bool:
    """Whether NO_PROXY names the host: by its name or a domain above it, each with or without its port, or by a network
    (10.0.0.0/8), as in curl."""
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    for entry in filter(None, (part.strip().lower() for part in excluded.split(","))):
        if entry == "*" or _in_network(host, entry):
            return True
        name = entry.removeprefix("*").removeprefix(".").removesuffix(f":{port}").strip("[]")
        if host == name or host.endswith(f".{name}"):
            return True
    return False


def _in_network(host: str, entry: str) -> bool:
    try:
        return ip_address(host) in ip_network(entry.replace("[", "").replace("]", ""), strict=False)
    except ValueError:
        return False

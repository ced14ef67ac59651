"""HTTP clients that use the proxies of the environment, for servers outside of the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runtime.api.errors import ConfigError

if TYPE_CHECKING:
    import httpx  # imported when the first client is opened: it takes 0.1 s

_THIS_MACHINE = ("127.0.0.1", "localhost", "[::1]")


def proxied_client(**options: Any) -> httpx.Client:
    """httpx.Client(**options), which reaches this machine without a proxy. ConfigError if the environment's proxies
    cannot be used."""
    import httpx

    try:
        return httpx.Client(mounts={f"all://{host}": None for host in _THIS_MACHINE}, **options)
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        raise ConfigError(
            "The proxies of the worker's environment cannot be used: correct HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and "
            f"NO_PROXY ({error})"
        ) from error

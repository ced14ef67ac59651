"""HTTP clients for servers outside of the cluster: proxies of the environment, and TLS contexts."""

from __future__ import annotations

import ssl
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


def verifying_context(cafile: str | None = None, cadata: str | bytes | None = None) -> ssl.SSLContext:
    """Verifies servers by these certificates, or by those of the system. Raises OSError (ssl.SSLError too) and
    ValueError for what cannot be read.

    Since 3.13 Python refuses CAs without the extension for key usage by default. Many companies have such a CA, and the
    clients of Java and Kafka accept it."""
    context = ssl.create_default_context(cafile=cafile, cadata=cadata)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context

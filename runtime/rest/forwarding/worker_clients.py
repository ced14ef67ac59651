"""HTTP clients for the other workers: one for each, with a bounded number of connections that are kept open."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING

import orjson

from runtime.herder.errors import Conflict, Unavailable
from runtime.herder.group.leader import worker_id

if TYPE_CHECKING:
    import httpx  # imported when the first request is sent: it takes 0.1 s

REQUEST_TIMEOUT = 90.0
"""Seconds that another worker may take for a response, as in Connect."""

CONNECT_TIMEOUT = 3.0
"""Seconds until a connection must be established."""

MAX_CONNECTIONS = 32
"""Connections to one worker; further requests wait."""

KEEP_ALIVE = 10.0
"""Seconds for which an unused connection is kept: less than the 30 s after which workers close it."""

MAX_CLIENTS = 64
"""Workers whose connections are kept while no request uses them."""

MAX_RESPONSE = 16 * 1024 * 1024
"""Bytes of a response. The largest have all offsets of a connector, or a group with many thousand tasks."""

_UNSENT = "{name} cannot be reached at {url}: {why}. Nothing was changed. {remedy}"
_ADDRESS = (
    "Try again; if that does not help, check that the worker runs, and that rest.advertised.host.name and "
    "rest.advertised.port of its configuration can be reached from this worker"
)
_TRUST = (
    "Check that listeners.https.ssl.truststore.location of this worker contains the certificate of the other worker, "
    "and that the certificate names its host"
)
_SENT = "{name} at {url} did not answer: {why}. It may have carried out the request: check before trying again"


class WorkerUnreachable(Conflict):
    """The request was not sent, because the other worker cannot be reached."""


@dataclass(frozen=True, slots=True)
class PeerResponse:
    """The response of another worker. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class WorkerRequest:
    """A request to another worker. `target` is its path and query, sent as they are."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""
    timeout: float = REQUEST_TIMEOUT


@dataclass(slots=True)
class _KeptClient:
    """The client of one worker, and the number of requests in progress."""

    http: httpx.AsyncClient
    requests: int = 0


class WorkerClients:
    """Sends requests to other workers. Event loop only."""

    def __init__(self, tls: Callable[[], ssl.SSLContext], transport: httpx.AsyncBaseTransport | None = None) -> None:
        """`tls` is called for the first https request; `transport` replaces the network."""
        self._tls, self._transport = tls, transport
        self._clients: dict[str, _KeptClient] = {}  # the last used last

    async def send(self, url: str, request: WorkerRequest, role: str = "Worker") -> PeerResponse:
        """Send a request to the worker at this URL (`http://host:port/`). `role` names the worker in messages.

        Conflict if the request was not sent, and WorkerUnreachable if repeating it may help; Unavailable if the worker
        may have carried it out."""
        import httpx

        where = {"name": f"{role} {worker_id(url)}", "url": url}
        try:
            async with asyncio.timeout(request.timeout):  # httpx limits each read, not the whole response
                return await self._exchange(url, request)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol) as e:
            raise Conflict(_UNSENT.format(**where, why=_reason(e), remedy=_ADDRESS)) from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as e:
            if _is_tls(e):  # trying again would not help
                raise Conflict(_UNSENT.format(**where, why=_reason(e), remedy=_TRUST)) from None
            raise WorkerUnreachable(_UNSENT.format(**where, why=_reason(e), remedy=_ADDRESS)) from None
        except httpx.PoolTimeout:
            why = f"all {MAX_CONNECTIONS} connections to it are in use"
            raise WorkerUnreachable(_UNSENT.format(**where, why=why, remedy="Try again")) from None
        except (httpx.TimeoutException, TimeoutError):
            why = f"no answer within {request.timeout:g} s"
            raise Unavailable(_SENT.format(**where, why=why)) from None
        except httpx.HTTPError as e:
            raise Unavailable(_SENT.format(**where, why=_reason(e))) from None

    async def _exchange(self, url: str, request: WorkerRequest) -> PeerResponse:
        client = self._client(url)
        client.requests += 1
        try:
            await self._close_unused()
            return await self._response(client.http, url, request)
        finally:
            client.requests -= 1

    async def _response(self, client: httpx.AsyncClient, url: str, request: WorkerRequest) -> PeerResponse:
        import httpx

        async with client.stream(
            request.method,
            url,
            content=request.body,
            headers={name.encode(): value.encode("latin-1") for name, value in request.headers.items()},
            timeout=httpx.Timeout(request.timeout, connect=min(CONNECT_TIMEOUT, request.timeout)),
            extensions={"target": request.target.encode("ascii")},
        ) as response:
            body = bytearray()
            async for chunk in response.aiter_raw():  # compressed bodies were not asked for
                body += chunk
                if len(body) > MAX_RESPONSE:
                    raise httpx.ReadError(f"its response is larger than {MAX_RESPONSE // 2**20} MiB")
            return PeerResponse(response.status_code, {k.lower(): v for k, v in response.headers.items()}, bytes(body))

    async def close(self) -> None:
        """Close all connections."""
        clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            await client.http.aclose()

    async def _close_unused(self) -> None:
        """To close a client breaks off its requests."""
        unused = [url for url, client in self._clients.items() if not client.requests]
        closing = [self._clients.pop(url) for url in unused[: max(len(self._clients) - MAX_CLIENTS, 0)]]
        for client in closing:
            await client.http.aclose()

    def _client(self, url: str) -> _KeptClient:
        """The client of one worker, so that a worker that does not answer blocks no requests to others."""
        import httpx

        client = self._clients.pop(url, None)
        if client is None:
            limits = httpx.Limits(
                max_connections=MAX_CONNECTIONS, max_keepalive_connections=8, keepalive_expiry=KEEP_ALIVE
            )
            verify = self._tls() if url.startswith("https:") else False
            http = httpx.AsyncClient(verify=verify, limits=limits, transport=self._transport, trust_env=False)
            http.cookies.jar.set_policy(DefaultCookiePolicy(allowed_domains=()))  # keep none
            client = _KeptClient(http)
        self._clients[url] = client
        return client


def message_of(response: PeerResponse) -> str:
    """The message of an error in Connect's format, otherwise the whole body."""
    try:
        return str(orjson.loads(response.body)["message"])
    except (ValueError, KeyError, TypeError):
        return response.body.decode(errors="replace")


def _is_tls(e: BaseException) -> bool:
    cause: BaseException | None = e
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _reason(e: Exception) -> str:
    return str(e).rstrip(".") or type(e).__name__

"""Refuses requests with an ambiguous length (RFC 9112, section 6.3)."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from runtime.rest.http.responses import error


class UnambiguousFraming:
    """Refuses `Content-Length` together with `Transfer-Encoding` and closes the connection: behind a proxy that uses
    the other header, the rest of the body could pass as another client's request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            if "transfer-encoding" in headers and "content-length" in headers:
                refusal = error(400, "A request has either Content-Length or Transfer-Encoding, not both")
                refusal.headers["Connection"] = "close"
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

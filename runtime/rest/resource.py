"""A resource: handlers by method, with Connect's answers to wrong methods and media types."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from runtime.rest.answers import JSON, RouterError

Handler = Callable[[Request], Awaitable[Response]]


class Resource:
    """What one path answers. HEAD comes with GET, OPTIONS with everything (FACTS 1)."""

    def __init__(self, produces: str = JSON, **handlers: Handler) -> None:
        self._produces = produces
        self._handlers = {method.upper(): handler for method, handler in handlers.items()}
        self.methods = frozenset(self._handlers)  # HEAD and OPTIONS go without saying
        if "GET" in self._handlers:
            self._handlers["HEAD"] = self._handlers["GET"]
        self._allow = ",".join(sorted({*self._handlers, "OPTIONS"}))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        response = await self._answer(request)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return self._options(request)
        handler = self._handlers.get(request.method)
        if handler is None:
            raise RouterError(405)  # without Allow, as recorded
        if not _accepts(request, self._produces):
            raise RouterError(406)
        if _has_body(request) and not _is_json(request):
            raise RouterError(415)
        return await handler(request)

    def _options(self, request: Request) -> Response:
        """As Jersey: plain text where the client takes it, else JSON."""
        media = "text/plain" if _accepts(request, "text/plain") else JSON
        return Response(status_code=200, headers={"Allow": self._allow, "Content-Type": media})


class RawPaths:
    """Routes see the path as it was sent, so that a name with an escaped slash stays one segment."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path = scope["raw_path"].decode("ascii", "replace")
            scope = {**scope, "path": path.rstrip("/") or "/"}
        await self._app(scope, receive, send)


def path_name(request: Request, key: str = "name") -> str:
    """A path variable, unescaped."""
    return unquote(request.path_params[key])


def _accepts(request: Request, media: str) -> bool:
    accept = request.headers.get("accept")
    if not accept:
        return True
    kinds = {part.split(";")[0].strip().lower() for part in accept.split(",")}
    return not kinds.isdisjoint({media, media.split("/")[0] + "/*", "*/*"})


def _has_body(request: Request) -> bool:
    return request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers


def _is_json(request: Request) -> bool:
    kind = request.headers.get("content-type", JSON).split(";")[0].strip().lower()
    return kind == JSON

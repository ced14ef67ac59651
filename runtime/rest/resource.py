"""Resource: the handlers of one path by method, with Connect's answers to wrong methods and media types."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from runtime.herder.errors import BadRequest
from runtime.kafka.formats import java_ordered
from runtime.rest.http.media import accepted, content_type, preferred
from runtime.rest.http.receiving import release
from runtime.rest.http.responses import JSON, RouterError, error
from runtime.rest.security.access import READ_ONLY, Role, check_role

Handler = Callable[[Request], Awaitable[Response]]

_AUTHORITY = re.compile("https?://[^/?#]*", re.IGNORECASE)
_PARAMETERS = re.compile(";[^/]*")


class Resource:
    """The endpoint of one path. A path with GET also answers HEAD, and every path answers OPTIONS (FACTS.md, 1)."""

    def __init__(self, *produces: str, consumes: str = JSON, role: Role = Role.ADMIN, **handlers: Handler) -> None:
        """`produces` is JSON by default; a handler chooses from several types. `consumes` is empty if any type of body
        is accepted; `role` is required by methods other than GET."""
        self._produces, self._consumes, self._role = produces or (JSON,), consumes, role
        self._handlers = {method.upper(): handler for method, handler in handlers.items()}
        self.methods = frozenset(self._handlers)  # without HEAD and OPTIONS
        if "GET" in self._handlers:
            self._handlers["HEAD"] = self._handlers["GET"]
        self._allow = list(java_ordered(dict.fromkeys(sorted({*self._handlers, "OPTIONS"}, reverse=True))))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._respond(request)
            await response(scope, receive, send)
        finally:
            release(scope)

    def needs(self, method: str) -> Role:
        """The role that a request with this method needs."""
        return Role.READ if method in READ_ONLY else self._role

    async def _respond(self, request: Request) -> Response:
        if request.method == "OPTIONS":
            return self._options(request)
        handler = self._handlers.get(request.method)
        if handler is None:
            raise RouterError(405)  # Connect sends no Allow header (recorded)
        check_role(request.scope, self.needs(request.method))
        if self._consumes and not _is_of(request, self._consumes):
            raise RouterError(415)
        if preferred(request.headers, self._produces) is None:
            raise RouterError(406)
        return await handler(request)

    def _options(self, request: Request) -> Response:
        """Answers as Jersey does: plain text if `Accept` prefers that; otherwise no body, with the preferred type."""
        first = request.headers.get("accept", "").split(",")[0].strip().lower()
        plain = first.split(";")[0] in ("", "text/plain", "text/*", "*/*", "*")
        body = ", ".join(self._allow) if plain else None
        media = "text/plain" if plain else JSON if "/" not in first else first
        return Response(body, 200, {"Allow": ",".join(self._allow), "Content-Type": media})


class RawPaths:
    """Passes the path to the routes as it was sent, so that a name with an escaped slash remains one segment.

    Removes a host before the path (RFC 9112), one slash at its end, and parameters of its segments.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http":
            try:
                content_type(Headers(scope=scope))  # a malformed Content-Type is refused on every path
                scope, send = {**scope, "path": _path(scope)}, _as_accepted(scope, send)
            except BadRequest as e:
                app = error(e.status, str(e))
        await app(scope, receive, send)


def _path(scope: Scope) -> str:
    sent: str = scope["raw_path"].decode("ascii", "replace")
    path = _AUTHORITY.sub("", sent, count=1) or "/" if not sent.startswith("/") else sent
    if ";" in path:
        if scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            # Connect drops the parameter: DELETE /connectors/a;b deletes the connector a.
            raise BadRequest(f"'{path}' has a ';', which starts a parameter; escape it as %3B in a name")
        path = _PARAMETERS.sub("", path)
    return path if path.endswith("//") or path == "/" else path.removesuffix("/")


def _is_of(request: Request, media: str) -> bool:
    """Whether the declared type of the body is this one; also true if the request declares none."""
    given = content_type(request.headers)
    return given is None or given.meets(media)


def _as_accepted(scope: Scope, send: Send) -> Send:
    """Repeats parameters of `Accept`, such as a charset, in the Content-Type of JSON answers, as Jersey does."""
    try:
        first = accepted(Headers(scope=scope))[0]
    except BadRequest:
        return send  # the resource refuses it
    parameters = [f"{name}={value}" for name, value in first.parameters if name != "q"]
    if f"{first.type}/{first.subtype}" != JSON or not parameters:
        return send
    media = ";".join([JSON, *parameters])

    async def respond(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if headers.get("content-type") == JSON:
                headers["content-type"] = media
        await send(message)

    return respond

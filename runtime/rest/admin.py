"""/admin/loggers: log levels at run time. Served on the API's listeners, on separate ones or not at all
(`admin.listeners`)."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.herder.errors import BadRequest
from runtime.herder.loggers import Loggers
from runtime.rest.http import bodies
from runtime.rest.http.parameters import parameter, path_name
from runtime.rest.http.receiving import parsed
from runtime.rest.http.responses import empty, json_response
from runtime.rest.resource import Resource


def admin_routes(loggers: Loggers) -> Sequence[Route]:
    """The routes of /admin/loggers. They also work while the worker starts."""

    async def all_loggers(_: Request) -> Response:
        return json_response(loggers.all())

    async def one_logger(r: Request) -> Response:
        return json_response(loggers.logger(path_name(r)))

    async def set_level(r: Request) -> Response:
        level = (await parsed(r, bodies.config)).get("level")
        if level is None:
            raise BadRequest("Desired 'level' parameter was not specified in request.")
        if (parameter(r, "scope") or "").lower() == "cluster":
            await loggers.set_everywhere(path_name(r), level)
            return empty(204)
        return json_response(loggers.set_here(path_name(r), level))

    return [
        Route("/admin/loggers", Resource(get=all_loggers)),
        Route("/admin/loggers/{name}", Resource(get=one_logger, put=set_level)),
    ]

"""The ASGI application: the routes, and the table that turns exceptions into error answers."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from runtime.api.errors import ConfigError
from runtime.herder.errors import HerderError
from runtime.host.port import HostError, HostRequestError, PluginTimeoutError
from runtime.kafka.errors import ClientConfigError, KafkaProblem, RecordTooLarge
from runtime.rest.http.receiving import BodyMemory
from runtime.rest.http.responses import RouterError, error, on_router_error
from runtime.rest.resource import RawPaths

log = logging.getLogger(__name__)


def application(routes: Sequence[Route], body_memory: BodyMemory | None = None) -> ASGIApp:
    """These routes as one ASGI application with its error answers; applications may share a `body_memory`."""
    app = Starlette(
        routes=routes,
        exception_handlers={
            RouterError: on_router_error,
            HTTPException: _on_starlette,
            HerderError: _on_herder,
            KafkaProblem: _on_unavailable,
            RecordTooLarge: _on_too_large,
            ClientConfigError: _on_config,
            TimeoutError: _on_unavailable,
            PluginTimeoutError: _on_plugin_timeout,
            HostError: _on_plugin,
            ConfigError: _on_config,
            ClientDisconnect: _on_disconnect,
            Exception: _on_unexpected,
        },
    )
    app.router.redirect_slashes = False
    app.state.body_memory = body_memory or BodyMemory()
    return RawPaths(app)


async def _on_starlette(request: Request, e: Exception) -> Response:
    """Starlette's router found no route."""
    assert isinstance(e, HTTPException)
    return await on_router_error(request, RouterError(e.status_code if e.status_code in RouterError.PHRASES else 404))


async def _on_herder(_: Request, e: Exception) -> Response:
    assert isinstance(e, HerderError)
    return error(e.status, str(e))


async def _on_unavailable(_: Request, e: Exception) -> Response:
    """Kafka did not answer in time, or Kafka denied access; the message names the missing right."""
    return error(503, str(e))


async def _on_too_large(_: Request, e: Exception) -> Response:
    """The configuration or the offsets of the request do not fit into a record of their topic."""
    return error(413, str(e))


async def _on_plugin_timeout(_: Request, e: Exception) -> Response:
    """A plugin hangs. Connect's clients expect 500, since another attempt would end in the same way."""
    return error(500, str(e))


async def _on_plugin(_: Request, e: Exception) -> Response:
    assert isinstance(e, HostError)
    if e.temporary:
        return error(503, e.message)
    return error(400 if isinstance(e, HostRequestError) else 500, e.message)


async def _on_config(_: Request, e: Exception) -> Response:
    """A variable of a stored configuration cannot be resolved, or its overrides of Kafka's clients cannot be used."""
    return error(400, str(e))


async def _on_disconnect(_: Request, e: Exception) -> Response:
    """The client disconnected before its body was complete, so this response is not read."""
    return error(400, "The client disconnected before the request body was complete")


async def _on_unexpected(request: Request, e: Exception) -> Response:
    log.exception("%s %s failed", request.method, request.url.path, exc_info=e)
    return error(500, f"{type(e).__name__}: {e}")

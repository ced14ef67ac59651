"""Offset endpoints that Apache's API does not have: history, resolve, orphaned offsets (docs/differences.md)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.herder.monitoring.offset_views import OffsetViews
from runtime.herder.offsets.orphans import Orphans
from runtime.herder.offsets.seek import SeekTarget, targets
from runtime.rest.http import bodies
from runtime.rest.http.answers import json_answer
from runtime.rest.http.receiving import LARGE_BODY_LIMIT, parsed
from runtime.rest.resource import Handler, Resource, path_name
from runtime.rest.security.access import PRINCIPAL, Role
from runtime.storage.journal import ChangeOrigin

_MAX_ORIGIN_LENGTH = 200


def origin(request: Request) -> ChangeOrigin:
    """The user and address of a request and the reason that it gives, for the history of offset changes."""
    user = request.scope.get(PRINCIPAL) or _header_text(request, "headrace-user")
    host = request.client.host if request.client else ""
    requester = "@".join(part for part in (str(user), host) if part)
    return ChangeOrigin(requester[:_MAX_ORIGIN_LENGTH], _header_text(request, "headrace-reason")[:_MAX_ORIGIN_LENGTH])


def _header_text(request: Request, header: str) -> str:
    """A header's text: UTF-8, as our console sends it, otherwise Latin-1."""
    value = request.headers.get(header, "")
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def _targets(body: bytes) -> Sequence[SeekTarget]:
    return targets(bodies.parse(body))


def offset_routes(
    views: OffsetViews, orphans: Orphans, ready: Callable[[Handler], Handler], leader: Callable[[Handler], Handler]
) -> Sequence[Route]:
    """The routes of these endpoints. `ready` wraps handlers so that they answer 503 until the stores have been read,
    `leader` so that they run at the leader."""

    async def history(r: Request) -> Response:
        return json_answer(views.history(path_name(r)))

    async def resolve(r: Request) -> Response:
        views.check_known(path_name(r))
        return json_answer(await views.resolve(path_name(r), await parsed(r, _targets, LARGE_BODY_LIMIT)))

    async def orphaned(_: Request) -> Response:
        return json_answer(await orphans.find())

    async def remove_orphaned(r: Request) -> Response:
        return json_answer(await orphans.remove(path_name(r), r.query_params.get("group"), origin(r)))

    return [
        Route("/orphaned-offsets", Resource(get=ready(orphaned))),
        Route("/orphaned-offsets/{name}", Resource(delete=leader(remove_orphaned))),
        Route("/connectors/{name}/offsets/history", Resource(get=ready(history))),
        Route("/connectors/{name}/offsets/resolve", Resource(role=Role.READ, post=ready(resolve))),
    ]

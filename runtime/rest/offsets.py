"""Offsets of connectors; history, resolve and orphaned offsets are not in Apache's API (docs/differences.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from runtime.herder.herder import Herder
from runtime.herder.monitoring.offset_views import OffsetViews
from runtime.herder.offsets.offset_requests import OffsetRequests
from runtime.herder.offsets.orphans import Orphans
from runtime.herder.offsets.seek import SeekTarget, targets
from runtime.herder.responses import DetailedOffsetsResponse
from runtime.rest.forwarding.peers import Peers
from runtime.rest.http import bodies
from runtime.rest.http.parameters import flag, path_name
from runtime.rest.http.receiving import LARGE_BODY_LIMIT, parsed
from runtime.rest.http.responses import json_response
from runtime.rest.security.access import PRINCIPAL
from runtime.storage.journal import ChangeOrigin

_MAX_ORIGIN_LENGTH = 200


class OffsetHandlers:
    """Handlers of offsets, also of those without a connector."""

    def __init__(
        self, herder: Herder, requests: OffsetRequests, views: OffsetViews, orphans: Orphans, peers: Peers
    ) -> None:
        self._herder, self._requests, self._views, self._orphans, self._peers = herder, requests, views, orphans, peers

    async def get(self, r: Request) -> Response:
        if not flag(r, "detail", False):
            return json_response(await self._requests.read(path_name(r)))
        details = await self._views.detail(path_name(r))
        elsewhere = await self._peers.collect(r, "Offsets", self._herder.task_workers(path_name(r)))
        return json_response(with_stalled(details, elsewhere))

    async def patch(self, r: Request) -> Response:
        self._herder.stored(path_name(r))
        offsets = await parsed(r, bodies.offsets, LARGE_BODY_LIMIT)
        return json_response(await self._requests.alter(path_name(r), offsets, origin(r)))

    async def delete(self, r: Request) -> Response:
        return json_response(await self._requests.reset(path_name(r), origin(r)))

    async def history(self, r: Request) -> Response:
        return json_response(await self._views.history(path_name(r)))

    async def resolve(self, r: Request) -> Response:
        self._views.check_known(path_name(r))
        return json_response(await self._views.resolve(path_name(r), await parsed(r, _targets, LARGE_BODY_LIMIT)))

    async def orphaned(self, _: Request) -> Response:
        return json_response(await self._orphans.find())

    async def remove_orphaned(self, r: Request) -> Response:
        return json_response(await self._orphans.remove(path_name(r), r.query_params.get("group"), origin(r)))


def with_stalled(here: DetailedOffsetsResponse, elsewhere: Mapping[str, Any]) -> DetailedOffsetsResponse:
    """The details of offsets, with the stalled tasks of all workers."""
    stalled = {*here["stalled"], *(task for view in elsewhere.values() if view for task in view.get("stalled", ()))}
    return {**here, "stalled": sorted(stalled)}


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

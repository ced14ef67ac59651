"""GET /connectors/{name}/progress: records and lag of a connector over the last hours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.herder.monitoring.progress_history import ProgressHistory, all_points
from runtime.rest.forwarding.peers import Peers
from runtime.rest.http.answers import json_answer
from runtime.rest.resource import Handler, Resource, path_name


def progress_routes(
    history: ProgressHistory, peers: Peers, check_known: Callable[[str], object], ready: Callable[[Handler], Handler]
) -> Sequence[Route]:
    """The route of the progress, which is that of all workers. `check_known` raises NotFound for an unknown connector;
    `ready` wraps the handler so that it answers 503 until the stores have been read."""

    async def progress(r: Request) -> Response:
        name = path_name(r)
        check_known(name)
        points, missing = all_points(history.of(name), await peers.collect(r, "ProgressHistory"))
        answer = {"name": name, "points": points}
        return json_answer({**answer, "missing": missing} if missing else answer)

    return [Route("/connectors/{name}/progress", Resource(get=ready(progress)))]

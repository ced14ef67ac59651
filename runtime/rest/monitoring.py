"""Metrics of the worker, and progress and automatic restarts of connectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.herder.monitoring.metrics import Metrics
from runtime.herder.monitoring.progress_history import ProgressHistory, all_points
from runtime.herder.restarts.auto_restart import AutoRestarts
from runtime.rest.forwarding.peers import Peers
from runtime.rest.http.answers import json_answer
from runtime.rest.resource import Handler, Resource, path_name


def restart_routes(
    restarts: AutoRestarts, check_known: Callable[[str], object], ready: Callable[[Handler], Handler]
) -> Sequence[Route]:
    """`check_known` raises NotFound for an unknown connector; `ready` wraps the handler so that it answers 503 until
    the stores have been read."""

    async def answer(r: Request) -> Response:
        name = path_name(r)
        check_known(name)
        return json_answer(restarts.answer(name))

    return [Route("/connectors/{name}/restarts", Resource(get=ready(answer)))]


def metrics_routes(metrics: Metrics) -> Sequence[Route]:
    """The route of /metrics. It also answers while the worker starts, so that scrapers see why metrics are missing."""

    async def answer(_: Request) -> Response:
        return Response(await metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return [Route("/metrics", Resource("text/plain", get=answer))]


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

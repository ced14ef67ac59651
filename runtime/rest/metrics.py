"""GET /metrics in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.herder.monitoring.metrics import Metrics
from runtime.rest.resource import Resource


def metrics_routes(metrics: Metrics) -> Sequence[Route]:
    """The route of /metrics. It also answers while the worker starts, so that scrapers see why metrics are missing."""

    async def answer(_: Request) -> Response:
        return Response(await metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return [Route("/metrics", Resource("text/plain", get=answer))]

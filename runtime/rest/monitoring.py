"""Health and metrics of the worker; progress, automatic restarts, log lines and stacks of connectors."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from runtime.herder.herder import Herder
from runtime.herder.monitoring.metrics import Metrics
from runtime.herder.monitoring.progress_history import ProgressHistory, all_points
from runtime.herder.restarts.auto_restart import AutoRestarts
from runtime.logs.lines import MAX_LINES, ConnectorLines
from runtime.rest.forwarding.forwarding import Forwarding
from runtime.rest.forwarding.peers import Peers
from runtime.rest.guards import Health, starting, with_cause
from runtime.rest.http.media import preferred
from runtime.rest.http.parameters import path_name, task_number, whole_number
from runtime.rest.http.responses import json_response

TEXT, OPEN_METRICS = "text/plain", "application/openmetrics-text"
METRICS = (TEXT, OPEN_METRICS)
"""Media types of `GET /metrics`."""


class WorkerHandlers:
    """Handlers that also answer while the worker starts."""

    def __init__(self, health: Health, metrics: Metrics) -> None:
        self._health, self._metrics = health, metrics

    async def root(self, _: Request) -> Response:
        return json_response(self._health.root)

    async def health(self, _: Request) -> Response:
        health = self._health
        if not health.ready:
            return json_response({"status": "starting", "message": starting(health)}, 503)
        if health.trouble is not None:
            unable = "Worker was unable to handle this request and may be unable to handle other requests."
            return json_response({"status": "unhealthy", "message": with_cause(unable, health.trouble)}, 500)
        if health.tasks_trouble:
            message = with_cause("Worker is ready to handle requests, but cannot run tasks.", health.tasks_trouble)
            return json_response({"status": "unhealthy", "message": message}, 500)
        message = "Worker has completed startup and is ready to handle requests."
        return json_response({"status": "healthy", "message": message})

    async def alive(self, _: Request) -> Response:
        """Liveness: answers whenever the process can, even while it waits for Kafka or its group."""
        return json_response({"status": "alive"})

    async def metrics(self, request: Request) -> Response:
        """Scrapers see why metrics are missing while the worker starts."""
        families = await self._metrics.families()
        if preferred(request.headers, METRICS) == OPEN_METRICS:
            return Response(families.open_metrics(), media_type=f"{OPEN_METRICS}; version=1.0.0; charset=utf-8")
        return Response(families.text(), media_type=f"{TEXT}; version=0.0.4; charset=utf-8")


class ProgressHandlers:
    """Handlers of what a connector did: its progress, which is that of all workers, and its automatic restarts."""

    def __init__(self, herder: Herder, history: ProgressHistory, restarts: AutoRestarts, peers: Peers) -> None:
        self._herder, self._history, self._restarts, self._peers = herder, history, restarts, peers

    async def progress(self, r: Request) -> Response:
        name = path_name(r)
        self._herder.stored(name)
        points, missing = all_points(self._history.of(name), await self._peers.collect(r, "ProgressHistory"))
        response = {"name": name, "points": points}
        return json_response({**response, "missing": missing} if missing else response)

    async def restarts(self, r: Request) -> Response:
        self._herder.stored(path_name(r))
        return json_response(self._restarts.response(path_name(r)))


class DiagnosticHandlers:
    """Handlers of log lines and stacks."""

    def __init__(self, herder: Herder, lines: ConnectorLines, peers: Peers, forwarding: Forwarding) -> None:
        self._herder, self._lines, self._peers, self._forwarding = herder, lines, peers, forwarding

    async def logs(self, r: Request) -> Response:
        name = path_name(r)
        self._herder.stored(name)
        task, most = whole_number(r, "task", -1), whole_number(r, "lines", MAX_LINES)
        here = self._lines.last(name, most, None if task < 0 else task)
        return json_response(all_lines(here, await self._peers.collect(r, "Lines"), most))

    async def task_stack(self, r: Request) -> Response:
        worker = (await self._herder.task_status(path_name(r), task_number(r)))["worker_id"]
        return await self._forwarding.at_worker(r, worker, self._stack)

    async def _stack(self, r: Request) -> Response:
        return json_response(await self._herder.task_stack(path_name(r), task_number(r)))


def all_lines(here: list[dict[str, object]], elsewhere: Mapping[str, Any], most: int) -> list[dict[str, object]]:
    """The newest lines of all workers, oldest first. A last line names workers without a usable response."""
    lines = [
        *here,
        *(line for lines_of_worker in elsewhere.values() if lines_of_worker is not None for line in lines_of_worker),
    ]
    newest = sorted(lines, key=lambda line: line["time"])[max(len(lines) - most, 0) :]
    return [*newest, *_missing([worker for worker, lines_of_worker in elsewhere.items() if lines_of_worker is None])]


def _missing(workers: Sequence[str]) -> list[dict[str, object]]:
    if not workers:
        return []
    message = f"Lines of {', '.join(sorted(workers))} are missing: no usable answer within the time limit"
    now = int(time.time() * 1000)
    return [{"time": now, "level": "WARN", "task": None, "logger": __name__, "message": message}]

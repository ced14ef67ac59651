"""What tasks leave on the worker that runs them: log lines of all workers, stacks."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from runtime.herder.herder import Herder
from runtime.logs.lines import MAX_LINES, ConnectorLines
from runtime.rest.forwarding.forwarding import Forwarding
from runtime.rest.forwarding.peers import Peers
from runtime.rest.http.parameters import path_name, task_number, whole_number
from runtime.rest.http.responses import json_response


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
    lines = [*here, *(line for found in elsewhere.values() if found is not None for line in found)]
    newest = sorted(lines, key=lambda line: line["time"])[max(len(lines) - most, 0) :]
    return [*newest, *_missing([worker for worker, found in elsewhere.items() if found is None])]


def _missing(workers: Sequence[str]) -> list[dict[str, object]]:
    if not workers:
        return []
    message = f"Lines of {', '.join(sorted(workers))} are missing: no usable answer within the time limit"
    now = int(time.time() * 1000)
    return [{"time": now, "level": "WARN", "task": None, "logger": __name__, "message": message}]

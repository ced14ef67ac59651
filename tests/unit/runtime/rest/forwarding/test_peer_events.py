"""Notices and progress of other workers, in the events of the worker that a client follows."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, cast

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from runtime.herder.monitoring.progress_watch import ProgressWatch, merged
from runtime.herder.responses import ProgressResponse
from runtime.herder.status.events import EventLog
from runtime.rest.forwarding.peer_events import PeerEvents
from runtime.rest.http.parameters import parameter
from runtime.rest.http.responses import json_response
from runtime.rest.resource import Resource
from runtime.rest.security.callers import check_from_worker
from tests.support.herder.worker_rig import ServingWorker, worker_group

IDLE: ProgressResponse = {
    "read": 0,
    "written": 0,
    "failed": 0,
    "lag": None,
    "age_ms": None,
    "stalled": [],
    "limit": None,
    "throttled_ms": 0,
}


class Progress:
    """The progress of one worker; `elsewhere` has the reported progress of the others."""

    def __init__(self, own: dict[str, ProgressResponse]) -> None:
        self._own = own
        self.elsewhere: Mapping[str, Any] = {}
        self.published = asyncio.Event()

    def own(self) -> dict[str, ProgressResponse]:
        return self._own

    def reported(self, elsewhere: Mapping[str, Any]) -> None:
        self.elsewhere = elsewhere
        self.published.set()


def events_of(worker: ServingWorker, log: EventLog, progress: Progress) -> tuple[PeerEvents, list[Route]]:
    events = PeerEvents(worker.peers, log, cast("ProgressWatch", progress), 0.05)

    async def own(r: Request) -> Response:
        check_from_worker(r.scope)
        return json_response(events.own(parameter(r, "after")))

    return events, [Route("/events/own", Resource(get=own))]


async def test_notices_and_progress_are_collected_while_a_client_follows() -> None:
    async with worker_group(2) as workers:
        logs, progress = [EventLog(), EventLog()], [Progress({}), Progress({"a": IDLE})]
        made = [events_of(*parts) for parts in zip(workers, logs, progress, strict=True)]
        for worker, (_, routes) in zip(workers, made, strict=True):
            await worker.serve(routes)
        logs[1].notice("WARN", "before anyone listens")
        async with made[0][0].followed(), made[1][0].followed():
            async with asyncio.timeout(30):
                assert progress[0].elsewhere == {workers[1].id: {"a": IDLE}}
                logs[1].notice("WARN", "stuck")
                found = [e async for e in _first(logs[0])]
        assert found == ["stuck"]
        assert progress[0].elsewhere == {}, "nothing is kept when the last client leaves"
        assert [e.data["message"] for e in logs[1]._events if e.own] == ["before anyone listens", "stuck"]
        assert len(logs[1]._events) == 2, "copies of notices do not return"
        assert (await workers[0].client.get("/events/own")).status_code == 403


async def test_a_malformed_answer_does_not_end_the_collection() -> None:
    async with worker_group(2) as workers:
        progress, answers = Progress({}), iter([{"unknown": 1}])
        events, _ = events_of(workers[0], EventLog(), progress)

        async def own(r: Request) -> Response:
            return json_response(next(answers, {"last": "x", "notices": [], "progress": {"a": IDLE}}))

        await workers[1].serve([Route("/events/own", Resource(get=own))])
        async with events.followed():
            async with asyncio.timeout(30):
                while not progress.elsewhere:
                    await progress.published.wait()
                    progress.published.clear()
                assert progress.elsewhere == {workers[1].id: {"a": IDLE}}


async def test_a_worker_that_does_not_answer_keeps_its_progress_until_it_leaves() -> None:
    """Otherwise its records would count as written anew when it answers again."""
    async with worker_group(2) as workers:
        progress, is_well, asked = Progress({}), True, list[str]()
        events, _ = events_of(workers[0], EventLog(), progress)

        async def own(r: Request) -> Response:
            asked.append(parameter(r, "after") or "")
            if not is_well:
                return Response(status_code=503)
            return json_response({"last": f"x.{len(asked)}", "notices": [], "progress": {"a": IDLE}})

        await workers[1].serve([Route("/events/own", Resource(get=own))])
        await events._collect()
        is_well = False
        await events._collect()
        assert progress.elsewhere == {workers[1].id: {"a": IDLE}}
        is_well = True
        await events._collect()
        assert asked == ["", "x.1", "x.1"], "no notice is lost"
        events._take({})
        assert progress.elsewhere == {}


async def _first(log: EventLog) -> Any:
    async for event in log.follow(0, 60):
        if event is not None:
            yield event.data["message"]
            return


@pytest.mark.parametrize(
    ("lags", "expected"),
    [
        ([None, None], None),
        ([{"records": 2, "ms": 5}, None], {"records": 2, "ms": 5}),
        ([{"records": 2, "ms": 5}, {"records": 3, "ms": 9}], {"records": 5, "ms": 9}),
        ([{"records": 2, "ms": None}, {"records": 3, "ms": 9}], {"records": 5, "ms": None}),
    ],
)
def test_progress_of_several_workers_is_merged(lags: list[Any], expected: Any) -> None:
    parts = [cast("ProgressResponse", {**IDLE, "read": 2, "lag": lag, "stalled": [i]}) for i, lag in enumerate(lags)]
    parts[1]["age_ms"] = 7
    found = merged(parts)
    assert (found["read"], found["lag"], found["age_ms"], found["stalled"]) == (4, expected, 7, [0, 1])
    assert merged(parts[:1]) == parts[0]

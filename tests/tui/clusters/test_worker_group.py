"""Cordon, uncordon and drain on the workers page, with a worker that answers like the leader of a group."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.support.console.console import Console, console
from tests.support.servers.stub_worker import LIST, Raw, StubWorker, listed, stub_worker
from tui.screens.base.dialog import Dialog
from tui.screens.clusters.worker_units import WorkerUnitsScreen
from tui.screens.clusters.workers import WorkersScreen
from tui.screens.services.operations import Phase

W, X = "w:8083", "x:8083"
REFUSED = f"Worker {W} cannot be drained: no other worker accepts its connectors and tasks ({X} is CORDONED)"


def group(w: str = "ACTIVE", x: str = "ACTIVE", owner: str = W) -> dict[str, Any]:
    """Two workers in these states; one of them owns the connector `lines`."""
    return {
        "group_id": "g", "generation": 3, "leader": W, "rebalancing": False, "waiting": [],
        "workers": [
            {
                "worker_id": worker, "url": f"http://{worker}/", "leader": worker == W, "here": worker == W,
                "implementation": "headrace", "version": "0.1.0", "slots": 2, "load": 0.5, "state": state,
                "connectors": ["lines"] * (worker == owner),
                "tasks": [{"connector": "lines", "task": 0}] * (worker == owner),
            }
            for worker, state in ((W, w), (X, x))
        ],
    }  # fmt: skip


@asynccontextmanager
async def workers_page(answers: dict[str, Any], **profile: Any) -> AsyncIterator[tuple[Console, StubWorker]]:
    root = {"version": "4.3.0", "commit": "headrace-0.1.0", "kafka_cluster_id": "k"}
    known = {"/": root, LIST: {"lines": listed("lines")}, "/workers": group(), **answers}
    async with stub_worker(known) as worker, console(worker.url, **profile) as seen:
        await seen.until(lambda: "lines" in seen.home.connector_list.keys)
        await seen.press("W")
        await seen.until(lambda: isinstance(seen.app.screen, WorkersScreen))
        await seen.sees("group g, generation 3", f"{X} ● ACTIVE")
        yield seen, worker


async def test_a_worker_is_drained_after_confirmation_and_its_units_are_shown_as_moving() -> None:
    async with workers_page({"PUT /workers/w%3A8083/drain": Raw(b"", 202)}) as (seen, worker):
        await seen.press("d")
        await seen.until(lambda: isinstance(seen.app.screen, Dialog))
        await seen.sees(f"drain {W}?", "Its 1 connector and 1 task move to other workers.")
        await seen.confirm("n")
        await seen.sees(f"cancelled: drain {W}")
        assert ("PUT", "/workers/w%3A8083/drain") not in worker.seen
        await seen.press("d")
        worker.answers["/workers"] = group(w="DRAINING")
        await seen.confirm("y")
        await worker.received("PUT", "/workers/w%3A8083/drain")
        await seen.sees(f"✓ drain {W}: draining", "↻ DRAINING")
        worker.answers["/workers"] = group(w="DRAINING", owner=X)
        await seen.press("f5")
        await seen.sees("■ DRAINED", "↻ 1")
        await seen.press("end", "enter")
        await seen.until(lambda: isinstance(seen.app.screen, WorkerUnitsScreen))
        await seen.sees(f"worker {X}", "1 connector, 1 task, 2 moving", "lines", "↻ MOVING")
        await seen.press("escape", "escape")
        await seen.until(lambda: seen.app.screen is seen.home)
        (operation,) = seen.home.operations.log
        assert operation.lines == (f"drain {W}",) and operation.phase is Phase.OBSERVED
        assert operation.curl("http://h")[0].startswith("curl -sS -X PUT http://h/workers/w%3A8083/drain")


async def test_cordon_and_uncordon_need_no_confirmation() -> None:
    answers = {f"PUT /workers/x%3A8083/{verb}": Raw(b"", 202) for verb in ("cordon", "uncordon")}
    async with workers_page(answers) as (seen, worker):
        worker.answers["/workers"] = group(x="CORDONED")
        await seen.press("end", "c")
        await worker.received("PUT", "/workers/x%3A8083/cordon")
        await seen.sees(f"✓ cordon {X}: cordoned", "‖ CORDONED")
        worker.answers["/workers"] = group()
        await seen.press("u")
        await worker.received("PUT", "/workers/x%3A8083/uncordon")
        await seen.sees(f"✓ uncordon {X}: uncordoned", f"{X} ● ACTIVE")


async def test_refusals_are_shown_and_invalid_requests_are_not_sent() -> None:
    refusal = Raw(b'{"error_code":409,"message":"%s"}' % REFUSED.encode(), 409)
    async with workers_page({"PUT /workers/w%3A8083/drain": refusal}) as (seen, worker):
        await seen.press("d")
        await seen.confirm("y")
        await seen.sees(f"✗ drain {W}: {REFUSED}")
        sent = worker.seen.count(("PUT", "/workers/w%3A8083/drain"))
        worker.answers["/workers"] = group(w="CORDONED", x="CORDONED")
        await seen.press("f5")
        await seen.sees("no worker accepts connectors and tasks")
        await seen.press("d")
        await seen.sees("✗ no other worker accepts its connectors and tasks")
        assert worker.seen.count(("PUT", "/workers/w%3A8083/drain")) == sent


async def test_a_read_only_context_changes_no_worker() -> None:
    async with workers_page({}, read_only=True, name="prod") as (seen, worker):
        for key, verb in (("c", "cordon"), ("u", "uncordon"), ("d", "drain")):
            await seen.press(key)
            await seen.sees(f"{verb} worker refused: the context prod is read-only")
        assert not [path for method, path in worker.seen if method == "PUT"]


async def test_names_of_workers_without_connectors_are_completed() -> None:
    async with workers_page({"PUT /workers/x%3A8083/cordon": Raw(b"", 202)}) as (seen, worker):
        await seen.press("escape")
        await seen.until(lambda: seen.app.screen is seen.home)
        count = worker.seen.count(("GET", "/workers"))
        await seen.press("colon")
        await seen.until(lambda: worker.seen.count(("GET", "/workers")) > count)
        await seen.press(*"cordon x")
        await seen.until(lambda: seen.home.command_line.complete("cordon x") == [f"cordon {X}"])
        await seen.press("tab", "enter")
        await worker.received("PUT", "/workers/x%3A8083/cordon")
        await seen.sees(f"{X}: cordoned")

"""The tasks page: R restarts the task under the cursor, and the operation shows whether it fails again."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.console.console import Console, console
from tests.support.servers.stub_worker import LIST, Raw, listed, stub_worker
from tui.screens.base.dialog import Dialog
from tui.screens.services.operations import Operation, Phase
from tui.widgets.bars import KeyBar

pytestmark = pytest.mark.usefixtures("own_folders")

RESTART = ("POST", "/connectors/orders/tasks/1/restart")


def orders(*states: str, connector: str = "RUNNING") -> dict[str, Any]:
    """The list with the connector `orders`, whose tasks have these states."""
    entry = listed("orders", connector)
    trace = "java.lang.IllegalStateException: disk full\n\tat a.b.C.put(C.java:1)"
    entry["status"]["tasks"] = [
        {"id": number, "state": state, "worker_id": "w:8083", "trace": trace if state == "FAILED" else ""}
        for number, state in enumerate(states)
    ]
    return {"orders": entry}


def answers(*states: str, connector: str = "RUNNING") -> dict[str, Any]:
    return {
        "/": {"version": "4.3.0", "commit": "x", "kafka_cluster_id": "k"},
        LIST: orders(*states, connector=connector),
        " ".join(RESTART): Raw(b"", 204),
    }


def keys(seen: Console) -> str:
    return seen.app.screen.query_one(KeyBar).line(seen.app.screen.query_one(KeyBar)._useful(), 300).plain


async def restarted(seen: Console) -> Operation:
    """Restarts task 1 with the keys, and returns the operation."""
    await seen.go("orders")
    await seen.press("enter", "2", "down")
    assert "R restart task" in keys(seen)
    await seen.press("R")
    await seen.sees("restart task orders/1?")
    await seen.confirm("y")
    await seen.until(lambda: seen.home.operations.log)
    return seen.home.operations.log[-1]


async def test_pages_of_a_deleted_connector_say_that_the_state_is_its_last_one() -> None:
    async with stub_worker(answers("RUNNING", "FAILED")) as worker, console(worker.url, 120, 30) as seen:
        await seen.go("orders")
        await seen.press("enter")
        await seen.sees("1 of 2 tasks running")
        worker.answers[LIST] = {}
        await seen.sees("does not exist any more", "deleted; this was its last state", "disk full")
        await seen.press("2")
        await seen.sees("deleted; this was its last state", "task 1")
        await seen.press("e")
        await seen.sees("e edit offsets: the connector does not exist any more")
        await seen.press("4")
        await seen.sees("at a.b.C.put:1")
        await seen.press("6")
        assert "x reset" not in keys(seen)
        await seen.press("5")
        assert "w set by time" not in keys(seen)
        worker.answers[LIST] = orders("RUNNING")
        await seen.press("1")
        await seen.sees("1 of 1 task running")
        assert "last state" not in seen.text


async def test_the_log_page_of_another_worker_has_no_keys() -> None:
    async with stub_worker(answers("RUNNING")) as worker, console(worker.url, 120, 30) as seen:
        await seen.go("orders")
        await seen.press("enter", "7")
        await seen.sees("this worker has no log for single connectors")
        assert "f follow" not in keys(seen)
        await seen.press("y")
        await seen.sees("y copy: this worker has no log for single connectors")
        await seen.press("8")
        await seen.sees("no events since the console was opened")
        await seen.press("y")
        await seen.sees("0 events: empty; nothing was copied")
        assert not [path for path in worker.seen if "logs" in path[1]], "not asked for"


async def test_a_task_that_fails_again() -> None:
    async with stub_worker(answers("FAILED", "FAILED")) as worker, console(worker.url, 120, 30) as seen:
        operation = await restarted(seen)
        await worker.received(*RESTART)
        worker.answers[LIST] = orders("FAILED", "RUNNING")
        await seen.until(lambda: operation.phase is Phase.OBSERVED)
        assert operation.last.startswith("observed: RUNNING, 1/1 tasks"), "the other task stays FAILED"
        worker.answers[LIST] = orders("FAILED", "FAILED")
        await seen.sees("failed again after", "disk full")
        assert operation.phase is Phase.FAILED and operation.lines == ("restart task orders/1",)
        assert [request for request in worker.seen if request[0] != "GET"] == [RESTART]


async def test_on_other_pages_the_key_restarts_the_connector() -> None:
    async with stub_worker(answers("RUNNING", "RUNNING")) as worker, console(worker.url, 120, 30) as seen:
        await seen.go("orders")
        await seen.press("enter", "1")
        assert "R restart" in keys(seen) and "R restart task" not in keys(seen)
        await seen.press("R")
        await seen.sees("restart orders?")
        await seen.press("escape")


async def test_a_read_only_context_and_a_paused_connector_refuse() -> None:
    async with stub_worker(answers("RUNNING", "RUNNING")) as worker:
        async with console(worker.url, 120, 30, read_only=True, name="prod") as seen:
            await seen.go("orders")
            await seen.press("enter", "2")
            assert "restart task" not in keys(seen)
            await seen.press("R")
            await seen.sees("restart task refused: the context prod is read-only")
        worker.answers[LIST] = orders("PAUSED", "PAUSED", connector="PAUSED")
        async with console(worker.url, 120, 30) as seen:
            await seen.go("orders")
            await seen.press("enter", "2", "R")
            await seen.sees("orders is PAUSED: a restart would not change that")
            assert not isinstance(seen.app.screen, Dialog)
        assert not [request for request in worker.seen if request[0] != "GET"]


async def test_beside_the_task_are_its_trace_offsets_and_last_restart() -> None:
    offsets = [{"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 1234}}]
    known = {**answers("RUNNING", "FAILED"), "/connectors/orders/offsets?detail=true": {"offsets": offsets}}
    async with stub_worker(known) as worker, console(worker.url, 80, 30) as seen:
        await seen.go("orders")
        await seen.press("enter", "2")
        await seen.sees("task 1", "last restart none known", "IllegalStateException: disk full", "t-0 1234")
        await seen.sees("this worker has no log for single connectors")
        await seen.press("R")
        await seen.confirm("y")
        await seen.sees("ago), by you: observed: FAILED, 0/1 tasks")
        await seen.press("tab", "G")
        await seen.sees("full trace", "at a.b.C.put:1")
        await seen.press("tab", "up")
        await seen.sees("task 0", "● RUNNING")


async def test_a_restart_by_another_console_of_this_machine_is_known() -> None:
    async with stub_worker(answers("FAILED", "FAILED")) as worker:
        async with console(worker.url, 80, 30) as seen:
            await restarted(seen)
            await worker.received(*RESTART)
        async with console(worker.url, 80, 30) as seen:
            await seen.go("orders")
            await seen.press("enter", "2")
            await seen.sees("last restart none known")
            await seen.press("down")
            await seen.sees("(screen): accepted")
            await seen.press("1")
            await seen.sees("last restart", "ago), task 1, by ", "(screen): accepted")


async def test_the_overview_shows_the_last_restart_with_its_age() -> None:
    async with stub_worker(answers("RUNNING", "RUNNING")) as worker, console(worker.url, 80, 30) as seen:
        await seen.go("orders")
        await seen.press("enter", "1")
        await seen.sees("2 of 2 tasks running")
        assert "last restart" not in seen.text
        await seen.press("R")
        await seen.confirm("y")
        await seen.sees("last restart", "ago), by you: HTTP 404 Not Found")  # the stub has no other response
        await seen.until(lambda: re.search(r"\([5-9] s ago\), by you", seen.text), "its age")

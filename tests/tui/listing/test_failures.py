"""The failures page: all failed tasks by root cause, and the restart of one, of a group, and of all."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.console.console import Console, console
from tests.support.servers.stub_worker import LIST, Raw, StubWorker, listed, stub_worker
from tui.screens.operations.bulk_screen import BulkScreen
from tui.screens.tasks.failures_screen import FailuresScreen

pytestmark = pytest.mark.usefixtures("own_folders")

DISK = "a.b.ConnectException: Exiting\nCaused by: java.io.IOException: disk full at offset {}"
TOPIC = "a.b.ConfigException: no topic"


def entry(name: str, *traces: str) -> dict[str, Any]:
    """A connector with a task for each trace; an empty one is of a task that runs."""
    one = listed(name)
    one["status"]["tasks"] = [
        {"id": number, "state": "FAILED" if trace else "RUNNING", "worker_id": "w:8083", "trace": trace}
        for number, trace in enumerate(traces)
    ]
    return one


def answers() -> dict[str, Any]:
    connectors = [entry("orders", "", DISK.format(7)), entry("users", DISK.format(12)), entry("stock", TOPIC)]
    restarts = {f"POST /connectors/{name}/tasks/{n}/restart": Raw(b"", 204) for name in NAMES for n in (0, 1)}
    version = {"version": "4.3.0", "commit": "x", "kafka_cluster_id": "k"}
    return {"/": version, LIST: {one["status"]["name"]: one for one in connectors}, **restarts}


NAMES = ("orders", "users", "stock")


def restarts(worker: StubWorker) -> list[str]:
    return sorted(path for method, path in worker.seen if method == "POST")


async def opened(seen: Console) -> FailuresScreen:
    await seen.go("orders")
    await seen.press("F")
    await seen.sees("3 failures of 3 connectors, 2 causes", "IOException: disk full at offset 7", "orders/1", "users/0")
    screen = seen.app.screen
    assert isinstance(screen, FailuresScreen)
    return screen


async def test_a_group_is_restarted_and_leaves_the_list_when_its_tasks_run() -> None:
    async with stub_worker(answers()) as worker, console(worker.url, 120, 30) as seen:
        screen = await opened(seen)
        await seen.press("R")
        await seen.sees("restart 2 tasks? type 2 to continue", "orders/1", "users/0")
        await seen.confirm("2", "enter")
        await seen.until(lambda: isinstance(seen.app.screen, BulkScreen))
        await seen.until(lambda: len(restarts(worker)) == 2)
        assert restarts(worker) == ["/connectors/orders/tasks/1/restart", "/connectors/users/tasks/0/restart"]
        worker.answers[LIST] = {
            "orders": entry("orders", "", ""),
            "users": entry("users", ""),
            "stock": entry("stock", TOPIC),
        }
        await seen.sees("restart 2 tasks: 2 observed")
        await seen.press("escape")
        await seen.sees("1 failure of 1 connector, 1 cause")
        assert seen.app.screen is screen


async def test_one_task_is_restarted_with_a_short_question_and_its_page_opens() -> None:
    async with stub_worker(answers()) as worker, console(worker.url, 80, 24) as seen:
        await opened(seen)
        await seen.press("down", "down")
        await seen.press("R")
        await seen.sees("restart users/0?")
        await seen.confirm("y")
        await worker.received("POST", "/connectors/users/tasks/0/restart")
        await seen.press("escape", "up", "enter")
        await seen.sees("2 tasks", "task 1", "root cause", "last restart")
        assert seen.home.view.page == "tasks" and seen.home.view.name_shown == "orders"


async def test_all_of_the_filtered_ones_and_those_that_ended_meanwhile() -> None:
    async with stub_worker(answers()) as worker, console(worker.url, 120, 30) as seen:
        await opened(seen)
        await seen.press("slash", *"disk", "enter")
        await seen.sees("2 failures of 2 connectors, 1 cause")
        await seen.press("A")
        await seen.sees("restart 2 tasks? type 2 to continue")
        worker.answers[LIST] = {**answers()[LIST], "users": entry("users", "")}
        await seen.until(lambda: seen.home.snapshot.connectors["users"].overall == "RUNNING")
        await seen.confirm("2", "enter")
        await seen.sees("users/0 is RUNNING now")
        await worker.received("POST", "/connectors/orders/tasks/1/restart")
        assert restarts(worker) == ["/connectors/orders/tasks/1/restart"]


async def test_a_read_only_context_refuses() -> None:
    async with stub_worker(answers()) as worker, console(worker.url, 80, 24, read_only=True, name="prod") as seen:
        await opened(seen)
        await seen.press("A")
        await seen.sees("restart refused: the context prod is read-only")
        assert not restarts(worker)

"""Workers and loggers of a cluster, on Apache's worker and on Headrace's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import unique
from tests.tui.conftest import Cluster
from tests.tui.console import console
from tests.unit.tui.screens.builders import connector
from tui.screens.clusters.loggers import LoggersScreen
from tui.screens.clusters.workers import WorkersScreen, loads
from tui.screens.services.operations import Phase


@pytest.fixture
def ours(our_connect_url: str, tmp_path: Path) -> Iterator[Cluster]:
    one = Cluster(our_connect_url, tmp_path)
    yield one
    one.close()


async def test_workers_are_listed_and_enter_shows_their_connectors(cluster: Cluster) -> None:
    source = cluster.source()
    failing = cluster.failing(source)
    cluster.wait_failed(failing)
    async with console(cluster.url) as seen:
        await seen.until(lambda: failing in seen.home.connector_list.keys)
        await seen.until(lambda: seen.home.snapshot.connectors[failing].failed)
        await seen.press("W")
        await seen.until(lambda: isinstance(seen.app.screen, WorkersScreen))
        await seen.sees("1 active worker", "✗ FAILED", "healthy: Worker has completed startup", "Apache")
        worker = seen.home.snapshot.connectors[failing].worker
        await seen.press("enter")
        await seen.until(lambda: seen.home.filter_text == f"worker:{worker}" and seen.home.connector_list.has_focus)
        assert failing in seen.home.connector_list.keys
        await seen.press("W", "escape")
        await seen.until(lambda: seen.app.screen is seen.home)


def test_tasks_count_for_their_own_worker() -> None:
    found = loads([connector("a", tasks=("RUNNING", "FAILED")), connector("b", "PAUSED", ("PAUSED",))])
    assert list(found) == ["w:8083"] and found["w:8083"].worst == "FAILED"
    assert found["w:8083"].connectors == {"RUNNING": 1, "PAUSED": 1}
    assert found["w:8083"].tasks == {"RUNNING": 1, "FAILED": 1, "PAUSED": 1}


async def test_levels_are_set_on_one_worker_and_on_all(ours: Cluster) -> None:
    logger = unique("some.logger").replace("-", ".")
    async with console(ours.url) as seen:
        await seen.until(lambda: seen.home.services)
        await seen.press("L")
        await seen.until(lambda: isinstance(seen.app.screen, LoggersScreen) and seen.app.screen.loggers)
        await seen.sees("root", "INFO")
        await seen.press("a", *logger, "enter")
        await seen.sees(f"level of {logger} on this worker", "d DEBUG", "o OFF")
        await seen.press("d")
        await seen.until(lambda: (ours.request("GET", f"/admin/loggers/{logger}")[1] or {}).get("level") == "DEBUG")
        await seen.sees(f"✓ DEBUG for {logger}: set")
        await seen.press("slash", *logger[:-3], "enter")
        await seen.sees("1 of ", "DEBUG")
        await seen.press("enter")
        await seen.sees("DEBUG is set")
        await seen.press("c")
        await seen.sees("on every worker of the cluster")
        await seen.press("e")
        await seen.until(lambda: ours.request("GET", f"/admin/loggers/{logger}")[1]["level"] == "ERROR")
        await seen.press("escape", "escape")
        await seen.until(lambda: seen.app.screen is seen.home)
        one, other = seen.home.operations.log
        assert one.lines == (f"patch logger {logger} -l DEBUG",) and one.phase is Phase.OBSERVED
        assert other.lines == (f"patch logger {logger} -l ERROR -s cluster",)
        assert other.curl("http://h") == [
            f"curl -sS -X PUT 'http://h/admin/loggers/{logger}?scope=cluster' "
            """-H 'Content-Type: application/json' -d '{"level": "ERROR"}'"""
        ]


async def test_a_worker_without_loggers_and_a_read_only_context(cluster: Cluster) -> None:
    async with console(cluster.url, read_only=True, name="prod") as seen:
        await seen.until(lambda: seen.home.services)
        await seen.press("colon", *"loggers", "enter")
        await seen.until(lambda: isinstance(seen.app.screen, LoggersScreen))
        await seen.press("a", *"x.y", "enter", "d")
        await seen.sees("setting a level refused: the context prod is read-only")

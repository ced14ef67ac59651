"""Snapshots of marks, bulk operations, clusters, workers and loggers at 80×24, 120×40 and 200×50."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.support.console.console_transports import InMemory
from tests.support.console.snapshot import NOON, RECORDING, SIZES, recorded, same, still, with_answers
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.cluster.cluster_overview import ClusterSummary
from tui.cluster.snapshot import ClusterLink, LinkState
from tui.contexts.profiles import Profile
from tui.screens.clusters.clusters import ClustersScreen
from tui.screens.clusters.loggers import LevelChange, LevelMenu, LoggersScreen
from tui.screens.operations.actions import ACTIONS
from tui.screens.operations.bulk import BulkOperation, chosen
from tui.screens.operations.bulk_screen import BulkScreen, question

__all__ = ["still"]
pytestmark = pytest.mark.usefixtures("still")
sizes = pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")


class Unanswered(InMemory):
    """Answers no request."""

    async def send(self, call: ApiCall) -> Any:
        await asyncio.Event().wait()


@sizes
async def test_bulk_screens(size: tuple[int, int]) -> None:
    async with recorded(*size) as seen:
        await seen.sees("orders-log")
        await seen.press("slash", *"orders", "enter", "asterisk")
        await same(seen, "marks")
        await seen.press("b")
        await same(seen, "bulk-menu")
        await seen.press("escape")
        home = seen.home
        targets = chosen(ACTIONS["stop"], home.bulk.targets(), home.operations.pending)
        seen.app.push_screen(question(ACTIONS["stop"], targets, home.snapshot.connectors, ""))
        await same(seen, "bulk-question")
        await seen.press("escape")
        assert home.services is not None
        runner = home.controller.runner
        bulk = BulkOperation(ACTIONS["stop"], targets, runner.act, runner.not_sent, home.snapshot_of, lambda: None)
        await bulk.run()  # a recording refuses every change
        seen.app.push_screen(BulkScreen(bulk, lambda again: None))
        await same(seen, "bulk-results")


@sizes
async def test_screens_of_clusters_workers_and_loggers(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    payments = Profile("https://connect.example.org", "payments", production=True)
    oops = Profile("http://10.0.0.7:8083", "[/oops] 日本語", read_only=True)
    levels = {
        "root": {"level": "INFO", "last_modified": None},
        "org.apache.kafka.connect.runtime.WorkerSinkTask": {"level": "DEBUG", "last_modified": (NOON - 90) * 1000},
    }
    async with recorded(*size, with_answers(RECORDING, tmp_path, {"/admin/loggers": levels})) as seen:
        await seen.sees("orders-log")
        here = seen.home.profile
        screen = ClustersScreen([payments, oops, here], here, {}, lambda profile: Connect(Unanswered()))
        lost = ClusterLink(LinkState.LOST, NOON - 75, NOON + 8, "cannot reach http://10.0.0.7:8083: refused")
        screen.overview.summaries |= {
            payments.label: ClusterSummary(
                payments,
                ClusterLink(LinkState.POLLING, NOON - 3),
                "3.9.1",
                "Apache",
                "q1",
                {"FAILED": 2, "RUNNING": 1031},
            ),
            oops.label: ClusterSummary(oops, lost, counts={"RUNNING": 7}),
        }
        seen.app.push_screen(screen)
        await seen.sees("0 s ago")  # the cluster of the recording has answered
        await same(seen, "clusters")
        screen.query_one("Grid").go("[/oops] 日本語")  # type: ignore[attr-defined]  # a Grid
        await same(seen, "clusters-lost")
        await seen.press("escape", "W")
        await same(seen, "workers")
        await seen.press("escape")

        async def refuse(wish: LevelChange) -> bool:
            return False

        services = seen.home.services
        assert services is not None
        loggers = LoggersScreen("here", services.connection.connect, refuse)
        seen.app.push_screen(loggers)
        await seen.until(lambda: loggers.loggers)
        await same(seen, "loggers")
        seen.app.push_screen(LevelMenu("org.apache.kafka", "INFO"))
        await same(seen, "logger-level")

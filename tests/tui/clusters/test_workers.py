"""Workers and loggers of a cluster, on Apache's worker and on Headrace's."""

from __future__ import annotations

from tests.support.broker import unique
from tests.support.console.console import console
from tests.tui.conftest import Cluster
from tests.unit.tui.screens.builders import connector
from tui.client.workers import ClusterWorker, ClusterWorkers
from tui.screens.clusters.loggers import LoggersScreen
from tui.screens.clusters.worker_rows import Unit, counted_states, in_glyphs, ranked, units_by_worker
from tui.screens.clusters.worker_units import WorkerUnitsScreen
from tui.screens.clusters.workers import WorkersScreen
from tui.screens.services.operations import Phase


async def test_workers_of_apache_are_derived_from_statuses(cluster: Cluster) -> None:
    source = cluster.source()
    failing = cluster.failing(source)
    cluster.wait_failed(failing)
    async with console(cluster.url) as seen:
        await seen.until(lambda: failing in seen.home.connector_list.keys)
        await seen.until(lambda: seen.home.snapshot.connectors[failing].failed)
        await seen.press("W")
        await seen.until(lambda: isinstance(seen.app.screen, WorkersScreen))
        await seen.sees("1 worker", "✗ FAILED", "healthy: Worker has completed startup", "Apache")
        await seen.sees("state, load and version of each worker: only Headrace workers report them")
        assert "cordon" not in seen.lines[-1]
        worker = seen.home.snapshot.connectors[failing].worker
        await seen.press("f")
        await seen.until(lambda: seen.home.filter_text == f"worker:{worker}" and seen.home.connector_list.has_focus)
        assert failing in seen.home.connector_list.keys
        await seen.press("W", "escape")
        await seen.until(lambda: seen.app.screen is seen.home)


async def test_enter_shows_the_units_of_a_worker_and_opens_their_connector(cluster: Cluster) -> None:
    source = cluster.source()
    failing = cluster.failing(source)
    cluster.wait_failed(failing)
    async with console(cluster.url) as seen:
        await seen.until(lambda: failing in seen.home.snapshot.connectors)
        await seen.until(lambda: seen.home.snapshot.connectors[failing].failed)
        await seen.press("W", "enter")
        await seen.until(lambda: isinstance(seen.app.screen, WorkerUnitsScreen))
        await seen.sees("worker ", failing, "connector", "task 0", "✗ FAILED", "● RUNNING")
        await seen.press("enter")  # failures come first
        await seen.until(lambda: seen.app.screen is seen.home and seen.home.view.name_shown == failing)


def states(units: dict[str, list[Unit]]) -> dict[str, list[tuple[str, int, str]]]:
    return {name: [(unit.connector, unit.task, unit.state) for unit in ranked(found)] for name, found in units.items()}


def test_without_a_reported_group_units_belong_to_the_worker_of_their_status() -> None:
    found = units_by_worker([connector("a", tasks=("RUNNING", "FAILED")), connector("b", "PAUSED", ())])
    assert states(found) == {
        "w:8083": [("a", 1, "FAILED"), ("a", -1, "RUNNING"), ("a", 0, "RUNNING"), ("b", -1, "PAUSED")]
    }
    assert in_glyphs(counted_states(found["w:8083"], tasks=True)).text == "✗ 1  ● 1"


def test_units_that_change_workers_are_shown_as_moving() -> None:
    leaving = connector("leaving")  # is stopping on w and has no owner
    arriving = connector("arriving")  # owned by v, where it is about to start
    paused = connector("paused", "PAUSED", ("PAUSED",))
    orphan = connector("orphan", "UNASSIGNED", ())  # waits for w to return
    owned = {"v:8083": ["arriving", "paused", "new"], "u:8083": []}
    workers = {
        name: ClusterWorker(name, tuple(names), tuple((one, 0) for one in names if one != "new"))
        for name, names in owned.items()
    }
    found = units_by_worker([leaving, arriving, paused, orphan], ClusterWorkers(workers, reported=True))
    assert states(found) == {
        "u:8083": [],
        "v:8083": [
            ("arriving", -1, "MOVING"),
            ("arriving", 0, "MOVING"),
            ("new", -1, "MOVING"),
            ("paused", -1, "PAUSED"),
            ("paused", 0, "PAUSED"),
        ],
        "w:8083": [("orphan", -1, "UNASSIGNED"), ("leaving", -1, "MOVING"), ("leaving", 0, "MOVING")],
    }


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
        await seen.press("a", *"x.y", "enter")
        await seen.sees("setting a level refused: the context prod is read-only")
        await seen.press("d")
        assert isinstance(seen.app.screen, LoggersScreen)

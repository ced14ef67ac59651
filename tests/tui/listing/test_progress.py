"""Progress in the list: from events of the worker, or requested for the visible rows."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.support.broker import KafkaBroker
from tests.support.connect import JSON
from tests.support.console.console import console
from tests.support.console.console_transports import InMemory
from tests.support.waiting import wait_until
from tests.tui.conftest import Cluster
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.formatting import short
from tui.metrics.progress import MAX_REQUESTS, POLL_INTERVAL, ConnectorProgress, ProgressMonitor, of_offsets
from tui.metrics.rate_history import STEP


def test_progress_from_the_answer_about_offsets() -> None:
    assert of_offsets(
        {"offsets": [{"lag": {"records": 7, "ms": 5}}, {"lag": {"records": 0, "ms": 0}}]}
    ) == ConnectorProgress(lag=7)
    assert not of_offsets({"offsets": [{"lag": {"records": 7}}, {"lag": None}]}).is_known, (
        "a lag of only some partitions is unknown"
    )
    assert of_offsets({"offsets": [{"age_ms": 9}, {"age_ms": 4}]}) == ConnectorProgress(age_ms=4)
    assert not of_offsets({"offsets": [{"partition": {}, "offset": {}}]}).is_known and not of_offsets({}).is_known


def test_large_numbers_are_abbreviated() -> None:
    assert [short(number) for number in (0, 999, 1000, 12_345, 999_999, 4_500_000)] == [
        *("0", "999", "1,000", "12.3k", "999k", "4.5M")
    ]


class Counting(InMemory):
    """A transport that counts requests and reports a lag for every connector."""

    url = "http://counting:1"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def send(self, call: ApiCall) -> Any:
        self.asked.append(call.path)
        return {"offsets": [{"lag": {"records": 3, "ms": 1}}]}


async def test_progress_requests_are_limited_in_number_and_rate() -> None:
    now = [100.0]
    transport = Counting()
    progress = ProgressMonitor(Connect(transport), lambda: None, lambda: now[0])
    names = [f"c{number}" for number in range(10)]
    for seen in (4, 8, 10, 10):
        await progress.poll(names)
        assert len(transport.asked) == seen
    now[0] += POLL_INTERVAL
    await progress.poll(names)
    assert len(transport.asked) == 10 + MAX_REQUESTS and progress.known["c9"].lag == 3
    progress.forget(["c1"])
    assert list(progress.known) == ["c1"]


async def test_the_progress_column_appears_if_the_worker_reports_progress(ours: Cluster) -> None:
    source = ours.source()
    sink = ours.sink(source)
    ours.wait(sink, "RUNNING 1/1")
    ours.wait_offset(sink)
    async with console(ours.url, 120, 30) as seen:
        await seen.go(sink)
        await seen.sees("LAG", "at the end")
        await seen.pilot.resize_terminal(90, 24)  # wide enough for the names of other tests' connectors
        await seen.sees("TYPE", "LAG", "REC/S", "SINCE")
        await seen.pilot.resize_terminal(66, 24)
        await seen.until(lambda: "TYPE" not in seen.text)
        await seen.sees("LAG", "at the end")


async def test_no_progress_column_on_apaches_worker(cluster: Cluster) -> None:
    source = cluster.source()
    async with console(cluster.url, 120, 30) as seen:
        await seen.go(source)
        await seen.sees("TYPE", "SINCE", "WORKER")
        assert "LAG" not in seen.text and seen.home.progress is not None and not seen.home.progress.known


async def test_the_overview_of_a_headrace_worker(ours: Cluster) -> None:
    source = ours.source()
    tolerant = {"value.converter": JSON, "errors.tolerance": "all"}
    sink = ours.sink(source, "tolerant", **tolerant)
    ours.wait(sink, "RUNNING 1/1")
    ours.wait_offset(sink)
    async with console(ours.url, 120, 40) as seen:
        await seen.go(sink)
        await seen.sees("✗ all fail")
        await seen.press("enter", "1")
        await seen.sees("100 records failed, 100 skipped", "VALUE_CONVERTER", "throughput", "records/s")
        await seen.press("9")
        await seen.sees("throughput", "records/s", "lag 0 records")
        await seen.press("escape", "W")
        await seen.sees("slots", "by slot 0:", "records written", "records failed")


async def test_a_stalled_task_is_shown_in_the_list(ours: Cluster) -> None:
    source = ours.source()
    async with console(ours.url, 120, 30) as seen:
        await seen.go(source)
        await seen.sees("LAG", " ago")
        progress = seen.home.progress
        assert progress is not None
        stalled = {"read": 1, "written": 1, "lag": None, "age_ms": 1, "stalled": [0]}

        def is_shown() -> bool:
            """Events of the worker, where the task is not stalled, replace what the test says."""
            progress.update({source: stalled})
            return "STALLED" in seen.text

        await seen.until(is_shown, "STALLED")


async def test_lag_and_throughput_on_apaches_worker_come_from_the_brokers(
    cluster: Cluster, broker: KafkaBroker
) -> None:
    source = cluster.source(lines=300)
    sink = cluster.sink(source)
    cluster.wait(sink, "RUNNING 1/1")
    assert cluster.wait_offset(sink)
    async with console(cluster.url, 130, 30, bootstrap=broker.bootstrap) as seen:
        await seen.go(sink)
        await seen.sees("LAG", "REC/S", "at the end")
        progress = seen.home.progress
        assert progress is not None
        await seen.until(lambda: source in progress.rate_histories, "the end offsets of the source's topic")
        cluster.request("PUT", f"/connectors/{sink}/stop")
        with (cluster.folder / f"{source}.txt").open("a") as file:
            file.write("more\n" * 40)
        await seen.sees("40 behind")
        await seen.until(lambda: seen.home.connector_list.rate(source, time.time()), "the throughput of the source")
        seen.home.run_line("sort lag")
        await seen.until(lambda: seen.home.connector_list.keys[0] == sink)


async def test_unreachable_brokers_are_reported_once(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.offsets.brokers.SHORT_TIMEOUT", 1.0)
    source = cluster.source()
    cluster.sink(source)
    async with console(cluster.url, 130, 30, bootstrap="127.0.0.1:1") as seen:
        await seen.sees("no lag or throughput in the list: the brokers 127.0.0.1:1")


async def test_plots_begin_before_the_console_was_opened(ours: Cluster) -> None:
    source = ours.source(lines=500)
    sink = ours.sink(source)
    ours.wait(sink, "RUNNING 1/1")

    def points() -> Any:
        status, answer = ours.request("GET", f"/connectors/{sink}/progress")
        assert status == 200 and answer["name"] == sink
        done = [one for one in answer["points"] if one["written"] == 500 and one["lag"] == 0]
        return [one for one in done if one["time"] / 1000 < time.time() - 2 * STEP]

    wait_until(points, 60, "a point that is not among those that the console receives itself", every=0.2)
    assert ours.request("GET", "/connectors/none/progress")[0] == 404
    opened = time.time()
    async with console(ours.url, 120, 40) as seen:
        await seen.go(sink)
        await seen.press("enter", "9")
        await seen.sees("throughput", "┤", "└", "lag 0 records")
        assert seen.home.progress is not None
        histories = seen.home.progress.rate_histories
        await seen.until(lambda: sink in histories and 0 < histories[sink].started_at < opened)
        await seen.press("z")
        await seen.sees("over")

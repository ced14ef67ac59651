"""Progress in the list: from events of the worker, or requested for the visible rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.console_transports import InMemory
from tests.tui.conftest import Cluster
from tests.tui.console import console
from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.formatting import short
from tui.metrics.progress import MAX_REQUESTS, POLL_INTERVAL, ConnectorProgress, ProgressMonitor, of_offsets


@pytest.fixture
def ours(our_connect_url: str, tmp_path: Path) -> Iterator[Cluster]:
    one = Cluster(our_connect_url, tmp_path)
    yield one
    one.close()


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
        *("0", "999", "1.0k", "12.3k", "999k", "4.5M")
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
        await seen.sees("PROGRESS", "at the end")
        await seen.pilot.resize_terminal(80, 24)
        await seen.sees("PROGRESS", "SINCE")
        await seen.until(lambda: "TYPE" not in seen.text)


async def test_no_progress_column_on_apaches_worker(cluster: Cluster) -> None:
    source = cluster.source()
    async with console(cluster.url, 120, 30) as seen:
        await seen.go(source)
        await seen.sees("TYPE", "SINCE", "WORKER")
        assert "PROGRESS" not in seen.text and seen.home.progress is not None and not seen.home.progress.known


async def test_the_overview_of_a_headrace_worker(ours: Cluster) -> None:
    source = ours.source()
    tolerant = {"value.converter": "org.apache.kafka.connect.json.JsonConverter", "errors.tolerance": "all"}
    sink = ours.sink(source, "tolerant", **tolerant)
    ours.wait(sink, "RUNNING 1/1")
    ours.wait_offset(sink)
    async with console(ours.url, 120, 40) as seen:
        await seen.go(sink)
        await seen.sees("✗ all fail")
        await seen.press("enter", "1")
        await seen.sees("100 records failed, 100 skipped", "VALUE_CONVERTER", "wrote", "records/s")
        await seen.press("9")
        await seen.sees("throughput", "records/s", "lag 0 records")
        await seen.press("escape", "W")
        await seen.sees("slots", "by slot 0:", "records written", "records failed")


async def test_a_stalled_task_is_shown_in_the_list(ours: Cluster) -> None:
    source = ours.source()
    async with console(ours.url, 120, 30) as seen:
        await seen.go(source)
        await seen.sees("PROGRESS", " ago")
        progress = seen.home.progress
        assert progress is not None
        progress.update({source: {"read": 1, "written": 1, "lag": None, "age_ms": 1, "stalled": [0]}})
        await seen.sees("STALLED")

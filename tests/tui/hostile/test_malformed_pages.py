"""Malformed answers on the screen: an error on the requesting page, "stale" for the list. The console continues."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.console.console import Console, console
from tests.support.servers.stub_worker import LIST, Raw, listed, stub_worker
from tui.screens.connector.pages import PAGES

pytestmark = pytest.mark.usefixtures("own_folders")

FAULT = "internal error"
ROOT = {"version": "4.3.0", "commit": "headrace-1", "kafka_cluster_id": "k"}
SHAPES: dict[str, Any] = {
    "null": None,
    "objects": {"a": {"b": {"c": 1}}, "offsets": [5], "history": [{}], "last": [7], "total": 5, "configs": {}},
    "numbers": {"offsets": [{"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": "x"},
                             "lag": {"records": 1e300}, "age_ms": -(10**30)}], "expires_at": 10**30},
    "deep": Raw(b"[" * 100_000),
}  # fmt: skip


async def healthy(seen: Console) -> None:
    await seen.pilot.pause(0.05)
    assert FAULT not in seen.text and seen.app.is_running and not seen.app._exception


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
async def test_every_page_survives_every_answer(shape: Any) -> None:
    good = {LIST: {"one": listed("one")}, "/": ROOT, "/events": Raw(b"", 404)}
    async with stub_worker(good, fallback=shape) as worker, console(worker.url) as seen:
        await seen.sees("one", "polling")
        await seen.go("one")
        await seen.press("enter")
        for number, _ in enumerate(PAGES, 1):
            await seen.press(str(number))
            await healthy(seen)
        await seen.press("5", "e", "escape", "escape", "u")
        await healthy(seen)
        await seen.press("3", "e")
        await healthy(seen)
        await seen.press("escape", "escape")
        for key in ("P", "L", "W", "C"):
            await seen.press(key)
            await healthy(seen)
            await seen.press("escape")
        assert worker.seen and seen.home.snapshot.connectors.keys() == {"one"}


@pytest.mark.parametrize(
    "answer",
    [{"one": {"status": {"connector": "x", "tasks": 5}}}, [1, 2, {"x": 1}], Raw(b"[" * 100_000), Raw(b"<html>", 200)],
    ids=["text for an object", "a list of anything", "deep", "HTML"],
)
async def test_a_malformed_list_is_stale_until_the_next_valid_answer(answer: Any) -> None:
    good = {"one": listed("one")}
    async with stub_worker({LIST: good, "/": ROOT}) as worker, console(worker.url) as seen:
        await seen.sees("one", "polling")
        worker.answers[LIST] = answer
        await seen.press("f5")
        await seen.sees("stale", "next try in", "one")
        worker.answers[LIST] = {**good, "two": listed("two")}
        await seen.press("f5")
        await seen.sees("polling", "two")
        assert FAULT not in seen.text


async def test_a_failed_event_stream_is_reported_and_the_list_polled() -> None:
    answers = {LIST: {"one": listed("one")}, "/": ROOT, "/events": Raw(b"<html>", 502)}
    async with stub_worker(answers) as worker, console(worker.url) as seen:
        await seen.sees("one", "polling (events: HTTP 502)")

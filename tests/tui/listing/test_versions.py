"""Keys on a worker of an earlier version of Connect."""

from __future__ import annotations

import pytest

from tests.support.console.console import console
from tests.support.console.recorded_worker import RecordedWorker
from tests.support.servers.stub_worker import LIST, stub_worker
from tui.widgets.bars import KeyBar

pytestmark = pytest.mark.usefixtures("own_folders")

NEEDS = "needs Connect 3.5; this is 3.4.1"


async def test_keys_that_the_version_lacks_are_grey_and_give_the_reason() -> None:
    responses = RecordedWorker("3.4.1").responses
    answers = {path: responses["GET", path]["answer"] for path in ("/", LIST)}
    async with stub_worker(answers) as worker, console(worker.url, 120, 30) as seen:
        await seen.sees("Connect 3.4.1")
        await seen.go("copy")
        await seen.press("s")
        await seen.sees(f"stopping a connector {NEEDS}; p pauses")
        await seen.press("e")
        await seen.sees("changing offsets needs Connect 3.6; this is 3.4.1")
        bar = seen.app.screen.query_one(KeyBar)
        spans = {span.style for span in bar.line(bar._useful(), 200).spans}
        grey = [active.binding.description for active in bar._useful() if seen.home.unavailable(active.binding.action)]
        assert "$text-disabled" in spans and "stop" in grey and "pause" not in grey
        await seen.press("space", "s")
        await seen.sees(f"stopping a connector {NEEDS}; p pauses")
        await seen.press("escape", "enter", "5")
        await seen.sees(f"reading offsets {NEEDS}")
        assert not [request for request in worker.seen if request[0] != "GET"]

"""A script interrupted during a change reports the state and how to finish the change."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.console.command_context import run_command
from tests.support.servers.stub_worker import HANG, stub_worker
from tests.unit.tui.offsets.test_operation import REQUESTS, Worker
from tests.unit.tui.scripted import status
from tui.client.client import Connect
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile

LINE = "patch offsets s --stop -y --kafka-topic t --kafka-partition 0 --kafka-offset 500"


def run(line: str, worker: Worker, notices: list[str], folder: Path) -> None:
    profile, profiles = Profile(worker.url, "w"), ContextsFile(folder / "c.toml")
    run_command(line, Connect(worker), profile, profiles=profiles, report=notices.append, clock=worker.clock)


@pytest.mark.parametrize("way_out", ["finish s -y", "finish s --back -y"])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("at", range(4, REQUESTS + 3))  # the stop request and those after it
def test_an_interrupt_at_any_request_reports_how_to_finish(
    at: int, kind: type[BaseException], way_out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    worker, notices = Worker(), list[str]()

    def interrupt(seen: int) -> None:
        if seen == at:
            raise kind

    worker.away = interrupt
    expected = 500
    try:
        run(LINE, worker, notices, tmp_path)
    except kind:
        expected = 1500 if "--back" in way_out else 500
        assert any("interrupted: it was RUNNING and may be STOPPED now" in text for text in notices), notices
        assert any("`finish s`" in text and "`finish s --back`" in text for text in notices)
        worker.away = lambda seen: None
        run(way_out, worker, notices, tmp_path)
    assert (worker.state, worker.offset) == ("RUNNING", expected)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
async def test_an_interrupted_process_reports_how_to_finish(number: signal.Signals, code: int, tmp_path: Path) -> None:
    answers = {
        "GET /connectors/s/status": status("s"),
        "GET /connectors/s/offsets": {"offsets": []},
        "PUT /connectors/s/stop": HANG,
    }
    async with stub_worker(answers) as worker:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tui.main", worker.url, "-c", LINE,
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        await worker.received("PUT", "/connectors/s/stop")
        process.send_signal(number)
        _, err = await process.communicate()
    assert process.returncode == code
    assert b"s: interrupted: it was RUNNING and may be STOPPED now; its offsets are unchanged. Run `finish s`" in err
    assert b"Traceback" not in err

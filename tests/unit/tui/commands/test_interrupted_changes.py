"""A change of several connectors that is interrupted reports what has been done, may have been done, and was not."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.servers.stub_worker import HANG, stub_worker
from tests.unit.tui.scripted import status


async def interrupted(
    command: str, answers: dict[str, Any], at: str, number: signal.Signals, folder: Path, script: str = ""
) -> str:
    """The messages of a command, or of a script if `command` is empty, to which a signal is sent when the worker has
    received the request `at`."""
    method, _, path = at.partition(" ")
    async with stub_worker(answers) as worker:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tui.main", worker.url, *(("-c", command) if command else ("--script", script)),
            env={**os.environ, "XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        await worker.received(method, path)
        process.send_signal(number)
        _, err = await process.communicate()
    assert process.returncode == 128 + number
    return err.decode()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_during_a_request(number: signal.Signals, tmp_path: Path) -> None:
    answers = {"PUT /connectors/a/stop": None, "PUT /connectors/b/stop": HANG}
    err = await interrupted("stop a b c d", answers, "PUT /connectors/b/stop", number, tmp_path)
    assert err.splitlines() == [
        "headrace: a: stopped",
        "headrace: b: interrupted; the change may have taken effect",
        "headrace: not tried: c, d",
    ]


async def test_while_the_states_are_observed(tmp_path: Path) -> None:
    answers = {"PUT /connectors/a/stop": None, "GET /connectors/a/status": status("a")}
    err = await interrupted("stop a", answers, "GET /connectors/a/status", signal.SIGINT, tmp_path)
    assert "headrace: a: stopped" in err.splitlines()


@pytest.mark.parametrize("lines", ["stop a\n# then\nstop b\nstop c\n", "stop a\n\n\nstop c\n"])
async def test_the_rest_of_a_script_is_named(lines: str, tmp_path: Path) -> None:
    file = tmp_path / "script"
    file.write_text(lines)
    answers = {"PUT /connectors/a/stop": HANG}
    err = await interrupted("", answers, "PUT /connectors/a/stop", signal.SIGINT, tmp_path, str(file))
    rest = "lines 3 to 4" if "stop b" in lines else "line 4"
    assert err.splitlines() == [
        "headrace: a: interrupted; the change may have taken effect",
        f"headrace: interrupted in line 1; not run: {rest}",
    ]

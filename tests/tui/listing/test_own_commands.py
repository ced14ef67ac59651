"""The menu of own commands runs programs for the connector under the cursor."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.support.console.console import console
from tests.support.servers.stub_worker import LIST, listed, stub_worker
from tests.unit.tui.screens.builders import connector
from tui.contexts.profiles import Profile
from tui.screens.home.own_commands import captured, values_of

CONFIG = """
[[commands]]
key = "g"
name = "echo"
run = "echo found {name} reading {topic} of {context}"

[[commands]]
key = "x"
name = "missing"
run = "no-such-program-here"
"""


async def test_own_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    name = "orders $(exit)"
    answers = {"/": {"version": "4.3.0"}, LIST: {name: listed(name)}}
    async with stub_worker(answers) as worker, console(worker.url, name="prod") as seen:
        await seen.go(name)
        await seen.press("exclamation_mark")
        await seen.sees("no own commands yet: add [[commands]]")
        (tmp_path / "headrace").mkdir(exist_ok=True)
        (tmp_path / "headrace" / "config.toml").write_text(CONFIG, "utf-8")
        await seen.press("exclamation_mark")
        await seen.sees(f"own commands for {name}", "g echo", "x missing")
        await seen.press("g")
        await seen.sees(f"found {name} reading t of prod")
        await seen.press("escape", "exclamation_mark", "x")
        await seen.sees("missing: cannot run no-such-program-here")


SLOW = """
[[commands]]
key = "s"
name = "slow"
run = "sh -c 'echo $$ > pid; until [ -e go ]; do sleep 0.05; done; echo {}; echo narrow'"
"""


async def test_a_command_that_runs_can_be_ended_and_does_not_disturb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "headrace").mkdir()
    (tmp_path / "headrace" / "config.toml").write_text(SLOW.format("-" * 100 + "END"), "utf-8")
    answers = {"/": {"version": "4.3.0"}, LIST: {name: listed(name) for name in ("one", "two")}}
    async with stub_worker(answers) as worker, console(worker.url) as seen:
        await seen.go("one")
        await seen.press("exclamation_mark", "s")
        await seen.sees("slow one; !! ends it")
        pid = await seen.until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
        await seen.press("exclamation_mark")
        await seen.sees("! end slow one, which has been running for")
        await seen.press("exclamation_mark")
        await seen.sees("slow one: ended")
        await seen.until(
            lambda: not Path(f"/proc/{pid}").exists() or "State:\tZ" in Path(f"/proc/{pid}/status").read_text()
        )

        await seen.press("exclamation_mark", "s")
        await seen.sees("slow one; !! ends it")
        await seen.press("down")
        (tmp_path / "go").touch()
        await seen.sees("slow one: done; !! shows its output")
        assert seen.app.screen is seen.home
        await seen.press("exclamation_mark")
        await seen.sees("! output of slow one")
        await seen.press("exclamation_mark")
        await seen.sees("narrow")
        assert "END" not in seen.text, "lines are not folded"
        await seen.press(*["right"] * 5)
        await seen.sees("END")
        await seen.press("escape", "exclamation_mark", "s")
        await seen.sees("slow two", "narrow")


async def test_a_command_that_hangs_is_ended_with_the_programs_it_started() -> None:
    ended = await asyncio.wait_for(captured(["sh", "-c", "echo begun; sleep 600 | cat"], dict(os.environ), 1.0), 20)
    assert ended.output == "begun\n" and ended.verdict == "ended after 60 s without a result"


async def test_a_program_left_running_is_not_waited_for() -> None:
    ended = await asyncio.wait_for(captured(["sh", "-c", "sleep 30 & echo started"], dict(os.environ)), 20)
    assert ended == (0, "started\n", False, False)


async def test_the_start_of_a_long_output_is_shown() -> None:
    ended = await asyncio.wait_for(captured(["sh", "-c", "yes | head -c 1000000"], dict(os.environ)), 20)
    assert ended.verdict == "done" and ended.output.endswith("… 800,000 more bytes are not shown")


def test_a_long_trace_fits_into_an_argument() -> None:
    one = connector("a", tasks=("FAILED",))
    task = one.tasks[0]._replace(trace="é\0" * 200_000)
    trace = values_of(one._replace(tasks=(task,)), Profile("http://c:8083"))["trace"]
    assert len(trace.encode()) < 128 * 1024 and trace.startswith("task 0:\néé")

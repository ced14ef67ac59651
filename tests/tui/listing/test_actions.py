"""Keys of verbs: confirmation, request for exactly one connector, observation of the new state."""

from __future__ import annotations

import pytest
from textual import events

from tests.support.broker import unique
from tests.support.console.console import Console, console
from tests.tui.conftest import Cluster
from tui.screens.base.dialog import Dialog
from tui.screens.services.operations import Operation, Phase


async def ended(seen: Console, verb: str, name: str) -> Operation:
    """Waits for the end of the last operation of this kind, and returns it."""

    def found() -> Operation | None:
        log = [one for one in seen.home.operations.log if (one.verb, one.target) == (verb, name)]
        return log[-1] if log and not log[-1].phase.is_open else None

    answer = await seen.until(found, f"{verb} {name} to end")
    assert isinstance(answer, Operation)
    return answer


async def test_stop_resume_pause_restart(cluster: Cluster) -> None:
    name = cluster.source()
    cluster.wait(name, "RUNNING 1/1")
    async with console(cluster.url) as seen:
        await seen.go(name)
        await seen.press("s")
        await seen.confirm("y")
        operation = await ended(seen, "stop", name)
        assert operation.phase is Phase.OBSERVED and "observed: STOPPED, no tasks" in operation.last
        assert cluster.state(name) == "STOPPED 0/0"
        await seen.sees("■ STOPPED", f"✓ stop {name}")
        await seen.press("r")  # without confirmation
        assert (await ended(seen, "resume", name)).phase is Phase.OBSERVED
        await seen.press("p")
        await seen.confirm("y")
        assert (await ended(seen, "pause", name)).phase is Phase.OBSERVED
        await seen.press("p")
        await seen.sees(f"{name} is already PAUSED")
        await seen.press("r")
        await ended(seen, "resume", name)
        await seen.press("R")
        await seen.confirm("y")
        operation = await ended(seen, "restart", name)
        assert operation.phase is Phase.OBSERVED and operation.lines == (f"restart connector {name} -t ALL",)
        await seen.press("o")
        await seen.sees("operations of this session", "curl -sS -X POST", "accepted: waiting for RUNNING")
        assert operation.curl(cluster.url) == [
            f"curl -sS -X POST '{cluster.url}/connectors/{name}/restart?includeTasks=true&onlyFailed=false'"
        ]
        await seen.press("escape")


async def test_cancel_has_the_focus_and_early_keys_are_ignored(cluster: Cluster) -> None:
    name = cluster.source()
    cluster.wait(name, "RUNNING 1/1")
    async with console(cluster.url) as seen:
        seen.app.question_delay = 2.0
        await seen.go(name)
        for key in ("s", "y", "y"):  # all keys in one packet, as over a slow connection
            seen.app.post_message(events.Key(key, key))
        await seen.until(lambda: isinstance(seen.app.screen, Dialog))
        dialog = seen.app.screen
        assert isinstance(dialog, Dialog)
        await seen.press("y", "enter")
        assert not dialog.armed and seen.app.screen is dialog, "the keys were typed before the question could be read"
        await seen.confirm("enter")
        await seen.sees("cancelled: stop")
        assert cluster.state(name) == "RUNNING 1/1" and not seen.home.operations.log


async def test_delete_requires_the_name(cluster: Cluster) -> None:
    name = cluster.source()
    cluster.wait(name, "RUNNING 1/1")
    async with console(cluster.url) as seen:
        await seen.go(name)
        await seen.press("D")
        await seen.until(lambda: isinstance(seen.app.screen, Dialog) and seen.app.screen.armed)
        await seen.press("y", "e", "s", "enter")
        assert isinstance(seen.app.screen, Dialog)
        await seen.press("escape")
        assert cluster.state(name) == "RUNNING 1/1"
        await seen.press("D")
        await seen.confirm(*name, "enter")
        assert (await ended(seen, "delete", name)).phase is Phase.OBSERVED
        assert cluster.request("GET", f"/connectors/{name}")[0] == 404
        assert seen.home.connector_list.current is None, "the next key does not act on the next row"
        await seen.press("s")
        assert not isinstance(seen.app.screen, Dialog)


async def test_a_name_that_looks_like_a_pattern_is_taken_literally(cluster: Cluster) -> None:
    from urllib.parse import quote

    prefix = unique("glob")
    other, odd = cluster.source(prefix), f"{prefix}-*"
    config = {"connector.class": "FileStreamSource", "file": "/none", "topic": "none"}
    assert cluster.request("POST", "/connectors", {"name": odd, "config": config})[0] == 201
    cluster.made.append(quote(odd, safe=""))
    cluster.wait(other, "RUNNING 1/1")
    async with console(cluster.url) as seen:
        await seen.go(odd)
        await seen.press("s")
        await seen.confirm("y")
        operation = await ended(seen, "stop", odd)
        assert operation.lines == (f"stop connector '{prefix}-[*]'",)
        assert cluster.state(other) == "RUNNING 1/1"


async def test_read_only_refuses_before_sending(cluster: Cluster) -> None:
    name = cluster.source()
    cluster.wait(name, "RUNNING 1/1")
    async with console(cluster.url, read_only=True, name="prod", production=True) as seen:
        await seen.sees("PRODUCTION", "READ-ONLY")
        await seen.go(name)
        await seen.press("s")
        await seen.sees("stop refused: the context prod is read-only")
        seen.home.report("")
        await seen.press("colon", *f"stop {name}", "enter")
        await seen.sees("refused: the context prod is read-only")
        assert cluster.state(name) == "RUNNING 1/1"


async def test_commands_are_typed_completed_and_previewed(cluster: Cluster) -> None:
    prefix = unique("bulk")
    names = [cluster.source(prefix), cluster.source(prefix)]
    for name in names:
        cluster.wait(name, "RUNNING 1/1")
    async with console(cluster.url) as seen:
        await seen.until(lambda: set(names) <= set(seen.home.connector_list.keys))
        await seen.press("colon", *"get pl", "tab", "enter")
        await seen.sees("TYPE", "CLASS", "FileStreamSourceConnector")
        await seen.press("escape", "colon", "up")
        await seen.sees(":get plugins")
        await seen.press("escape")
        await seen.press("colon", *f"stop {prefix}-* -y", "enter")
        await seen.sees("2 connectors; type 2 to continue", "would be stopped")  # -y is for scripts
        await seen.confirm("2", "enter")
        await seen.sees("RESULT", "stopped")
        await seen.press("escape")
        for name in names:
            assert (await ended(seen, "stop", name)).phase is Phase.OBSERVED
        await seen.press("colon", *"stp x", "enter")
        await seen.sees("unknown command 'stp'")


@pytest.mark.parametrize("key", ["q", "ctrl+q"])
async def test_quit(cluster: Cluster, key: str) -> None:
    async with console(cluster.url) as seen:
        await seen.sees("connector")
        await seen.press(key)
        await seen.until(lambda: seen.app.return_code is not None or not seen.app.is_running)


async def test_a_single_ctrl_c_does_not_quit(cluster: Cluster) -> None:
    async with console(cluster.url) as seen:
        await seen.sees("polling")
        await seen.press("ctrl+c")
        await seen.sees("q quits; so does ^C pressed again")
        assert seen.app.is_running
        await seen.press("colon", "ctrl+c")
        await seen.until(lambda: not seen.home.query_one("Prompt").display)
        assert seen.app.is_running

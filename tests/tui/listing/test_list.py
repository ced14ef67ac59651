"""The connector list against a real worker."""

from __future__ import annotations

from urllib.parse import quote

from tests.support.broker import unique
from tests.support.console.console import console
from tests.support.servers.forwarder import Forwarder
from tests.tui.conftest import Cluster
from tui.screens.base.too_small import TooSmall


async def test_failures_are_first_and_n_moves_to_them(cluster: Cluster) -> None:
    source = cluster.source("aaa")
    cluster.wait(source, "RUNNING 1/1")
    async with console(cluster.url) as seen:
        await seen.until(lambda: source in seen.home.connector_list.keys)
        await seen.go(source)
        failing = cluster.failing(source)  # while the screen is shown
        await seen.until(lambda: seen.home.snapshot.connectors.get(failing, None) is not None)
        await seen.until(lambda: seen.home.snapshot.connectors[failing].failed == 1)
        keys = seen.home.connector_list.keys
        assert keys.index(failing) < keys.index(source)
        assert seen.home.connector_list.cursor == source, "a refresh never moves the cursor"
        await seen.sees("✗ FAILED", "0/1, 1 failed", "● RUNNING", "failed")
        seen.home.connector_list.action_edge(-1)
        visited = set()
        while failing not in visited:
            await seen.press("n")
            assert seen.home.connector_list.cursor not in visited, "n visits all failures"
            visited.add(seen.home.connector_list.cursor)
        await seen.press("t")
        await seen.sees("why task 0 failed", "Tolerance exceeded in error handler", "↳ org.apache.kafka.common.errors")
        await seen.press("escape")
        assert seen.home.connector_list.has_focus and seen.home.connector_list.cursor == failing


async def test_the_filter_applies_while_typing(cluster: Cluster) -> None:
    one, other = cluster.source("first"), cluster.source("second")
    async with console(cluster.url) as seen:
        await seen.until(lambda: {one, other} <= set(seen.home.connector_list.keys))
        await seen.press("slash", *other[:9])
        assert other in seen.home.connector_list.keys and one not in seen.home.connector_list.keys
        assert seen.home.connector_list.cursor in seen.home.connector_list.keys
        await seen.press("enter")
        assert seen.home.connector_list.has_focus
        await seen.press("escape")
        assert {one, other} <= set(seen.home.connector_list.keys)
        await seen.press("slash", *"type:nothing")
        assert not seen.home.connector_list.keys
        await seen.sees("nothing is not a type; choose from source, sink")
        await seen.press("escape")
        assert {one, other} <= set(seen.home.connector_list.keys)


async def test_columns_by_width(cluster: Cluster) -> None:
    name = cluster.source()
    async with console(cluster.url) as seen:
        await seen.sees(name)
        assert "CLASS" not in seen.text and "SINCE" in seen.text
        await seen.pilot.resize_terminal(200, 50)
        await seen.sees("CLASS", "WORKER", "FileStreamSource")
        await seen.pilot.resize_terminal(80, 24)
        await seen.until(lambda: "CLASS" not in seen.text)
        await seen.pilot.resize_terminal(50, 10)
        await seen.until(lambda: isinstance(seen.app.screen, TooSmall))
        await seen.sees("50×10 is too small")
        await seen.pilot.resize_terminal(80, 24)
        await seen.sees(name)


async def test_the_page_is_beside_the_list_on_wide_screens(cluster: Cluster) -> None:
    cluster.source()
    name = cluster.source()
    async with console(cluster.url, 200, 50) as seen:
        await seen.go(name)
        await seen.press("enter")
        await seen.sees("overview", "NAME")
        assert seen.home.connector_list.display
        await seen.pilot.resize_terminal(80, 24)
        await seen.until(lambda: "NAME" not in seen.text)
        await seen.pilot.resize_terminal(200, 50)
        await seen.until(lambda: seen.lines[1].lstrip()[:1] in "✗○●‖■" and seen.lines[1].endswith("connectors"))
        await seen.pilot.resize_terminal(80, 24)
        await seen.until(lambda: "NAME" not in seen.text)
        await seen.press("3")
        await seen.sees("connector.class FileStreamSource")


async def test_control_characters_of_the_server_are_not_interpreted(cluster: Cluster) -> None:
    names = [unique(name) for name in ("[red]oops[bold]", "日本語の名前", "a" * 90)]
    for name in names:
        config = {"connector.class": "FileStreamSource", "file": "/[bold]none[/]", "topic": "x\x07[/oops]"}
        assert cluster.request("POST", "/connectors", {"name": name, "config": config})[0] == 201
        cluster.made.append(quote(name, safe=""))
    async with console(cluster.url) as seen:
        await seen.until(lambda: set(names) <= set(seen.home.connector_list.keys))
        await seen.press("slash", *"class:file -xx")
        await seen.sees(names[0], names[1], "…")
        await seen.press("enter")
        await seen.go(names[0])
        for page in "12345":
            await seen.press(*(["enter"] if page == "1" else []), page)
            assert names[0] in seen.text
        await seen.press("3")
        await seen.sees("file /[bold]none[/]", "[/oops]")
        assert "\x07" not in "".join(seen.lines)


async def test_the_list_is_dimmed_while_the_worker_is_unreachable(cluster: Cluster) -> None:
    name = cluster.source()
    async with Forwarder(cluster.url) as forwarder, console(forwarder.url) as seen:
        await seen.go(name)
        await seen.sees("● RUNNING")
        forwarder.die()
        await seen.sees("next try in", "unreachable:")
        assert seen.home.connector_list.stale and name in seen.text
        await seen.press("s")
        await seen.sees("the cluster does not respond")
        await forwarder.revive()
        await seen.until(lambda: not seen.home.is_stale, within=60)
        assert not seen.home.connector_list.stale and seen.home.connector_list.cursor == name


async def test_no_worker_at_the_address() -> None:
    async with console("http://127.0.0.1:1") as seen:
        await seen.sees("unreachable: http://127.0.0.1:1: Connection refused", "next try in")
        await seen.press("question_mark")
        await seen.sees("keys that work here", "/ filter")
        await seen.press("escape")
        await seen.press("colon", *"info", "enter")
        await seen.sees("cannot reach")
        assert seen.app.is_running

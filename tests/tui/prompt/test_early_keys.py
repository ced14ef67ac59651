"""Keys typed while the console or a page starts act once it has started, in their order."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events

from tests.support.console.console import Console, console
from tests.support.servers.stub_worker import LIST, listed, stub_worker
from tui.contexts.contexts_file import ContextsFile
from tui.contexts.profiles import Profile
from tui.screens.clusters.loggers import LevelChange, LoggersScreen
from tui.screens.contexts.diff_screen import DiffScreen
from tui.screens.contexts.promote_screen import PromoteScreen
from tui.screens.create.plugins import PluginsScreen

NAMES = ("dlq-sink", "orders", "quotes")


def type_at_once(seen: Console, text: str) -> None:
    """Sends keys without waiting for any effect, as a terminal does that was typed into meanwhile."""
    names = {
        "/": "slash",
        "\r": "enter",
        "\n": "ctrl+j",
        "?": "question_mark",
        "-": "minus",
        "=": "equals_sign",
        ">": "greater_than_sign",
    }
    for letter in text:
        event = events.Key(names.get(letter, letter), letter)
        event.set_sender(seen.app)
        seen.app.post_message(event)


async def test_a_filter_typed_at_once_filters_and_does_not_quit() -> None:
    answers = {"/": {"version": "4.3.0"}, LIST: {name: listed(name) for name in NAMES}}
    async with stub_worker(answers) as worker, console(worker.url) as seen:
        assert not seen.home.is_started
        type_at_once(seen, "/dlq\r")
        await seen.until(lambda: seen.home.filter_text == "dlq")
        await seen.until(lambda: not seen.home.command_line.is_open)
        await seen.until(lambda: seen.home.connector_list.keys == ["dlq-sink"])
        assert seen.app.is_running and not seen.home.is_detail


async def test_enter_is_not_lost_before_the_terminal_is_set_up() -> None:
    """A terminal sends a newline for Enter until a program asks for single keys."""
    answers = {"/": {"version": "4.3.0"}, LIST: {name: listed(name) for name in NAMES}}
    async with stub_worker(answers) as worker, console(worker.url) as seen:
        type_at_once(seen, "/dlq\n")
        await seen.until(lambda: seen.home.filter_text == "dlq" and not seen.home.command_line.is_open)
        await seen.until(lambda: seen.home.is_started)
        type_at_once(seen, "\n")
        type_at_once(seen, "?")
        await seen.sees("keys that work here")
        assert not seen.home.is_detail


async def test_quit_is_not_lost() -> None:
    async with stub_worker({"/": {"version": "4.3.0"}, LIST: {}}) as worker, console(worker.url) as seen:
        type_at_once(seen, "q")
        await seen.until(lambda: seen.app.return_code is not None)


async def test_keys_typed_while_a_page_opens_wait_for_it() -> None:
    async with stub_worker({"/": {"version": "4.3.0"}, LIST: {}}) as worker, console(worker.url) as seen:
        await seen.until(lambda: seen.home.is_started)
        assert seen.home.services is not None
        page = PluginsScreen(seen.home.services)
        opening = seen.app.push_screen(page)
        type_at_once(seen, "/jdbc")
        await opening
        await seen.until(lambda: page.filter_text == "jdbc")
        assert seen.app.screen is page and page.prompt.is_open


async def test_a_page_that_is_left_at_once_loses_no_keys() -> None:
    async with stub_worker({"/": {"version": "4.3.0"}, LIST: {}}) as worker, console(worker.url) as seen:
        await seen.until(lambda: seen.home.is_started)
        assert seen.home.services is not None
        opening = seen.app.push_screen(PluginsScreen(seen.home.services))
        type_at_once(seen, "q/dlq")
        await opening
        await seen.until(lambda: seen.home.filter_text == "dlq")


async def test_keys_typed_at_once_on_a_page_reach_its_prompt() -> None:
    async with stub_worker({"/": {"version": "4.3.0"}, LIST: {}}) as worker, console(worker.url) as seen:
        await seen.until(lambda: seen.home.is_started)
        assert seen.home.services is not None
        page = PluginsScreen(seen.home.services)
        await seen.app.push_screen(page)
        await seen.until(lambda: page.grid.has_focus)
        type_at_once(seen, "/jdbc\r")
        await seen.until(lambda: page.filter_text == "jdbc" and not page.prompt.is_open and page.grid.has_focus)
        assert seen.app.screen is page, "c after / does not create a connector"


async def test_keys_typed_while_the_loggers_open_wait_for_them() -> None:
    loggers = {"a.b.Catch": {"level": "INFO"}, "root": {"level": "WARN"}}
    answers = {"/": {"version": "4.3.0"}, LIST: {}, "/admin/loggers": loggers}
    async with stub_worker(answers) as worker, console(worker.url) as seen:
        await seen.until(lambda: seen.home.is_started)
        assert seen.home.services is not None

        async def refuse(change: LevelChange) -> bool:
            return False

        screen = LoggersScreen("here", seen.home.services.connect, refuse)
        opening = seen.app.push_screen(screen)
        type_at_once(seen, "/catch\r")
        await opening
        await seen.until(lambda: screen.grid.keys == ["a.b.Catch"] and screen.grid.has_focus)
        assert seen.app.screen is screen and screen.filter_text == "catch"


@pytest.mark.parametrize("key", ["=", ">"])
async def test_the_name_of_a_context_typed_at_once_is_no_command(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name, url in (("ro", "http://127.0.0.1:1"), ("other", "http://127.0.0.1:2")):
        ContextsFile(tmp_path / "headrace" / "contexts.toml").put(Profile(url, name))
    answers = {"/": {"version": "4.3.0"}, LIST: {"one": listed("one", "PAUSED")}}
    async with stub_worker(answers) as worker, console(worker.url) as seen:
        await seen.go("one")
        type_at_once(seen, f"{key}ro\r")
        await seen.until(lambda: isinstance(seen.app.screen, DiffScreen | PromoteScreen) and seen.app.screen.is_started)
        assert all(method == "GET" for method, _ in worker.seen), "r does not resume the connector"

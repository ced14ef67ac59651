"""Keys typed while the console starts act once it has started, in their order."""

from __future__ import annotations

from textual import events

from tests.support.console.console import Console, console
from tests.support.servers.stub_worker import LIST, listed, stub_worker

NAMES = ("dlq-sink", "orders", "quotes")


def type_at_once(seen: Console, text: str) -> None:
    """Sends keys without waiting for any effect, as a terminal does that was typed into meanwhile."""
    names = {"/": "slash", "\r": "enter", "-": "minus"}
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


async def test_quit_is_not_lost() -> None:
    async with stub_worker({"/": {"version": "4.3.0"}, LIST: {}}) as worker, console(worker.url) as seen:
        type_at_once(seen, "q")
        await seen.until(lambda: seen.app.return_code is not None)

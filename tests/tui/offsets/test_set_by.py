"""The dialog that sets a sink by time: Enter may be pressed before the brokers have answered."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from textual.app import App
from textual.widgets import Input

from tests.support.console.console import detached_console
from tui.errors import HeadraceError
from tui.model import Offset
from tui.offsets.changes import changes
from tui.offsets.positions import EXPECTED
from tui.offsets.seek import SeekPlan, SeekPlanner, SeekRequest
from tui.screens.offsets.set_by_time import SetByTimeDialog
from tui.widgets.pager import Pager

BASE = (Offset({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": 1500}),)


class Slow:
    """A seek planner whose brokers answer slowly."""

    def __init__(self, moves: bool = True) -> None:
        self.go, self.asked, self.moves = asyncio.Event(), asyncio.Event(), moves
        self.trouble: HeadraceError | None = None

    async def resolve(self, name: str, target: SeekRequest) -> SeekPlan:
        self.asked.set()
        await self.go.wait()
        if self.trouble:
            raise self.trouble
        made = changes(BASE, [BASE[0]._replace(offset={"kafka_offset": 0})]) if self.moves else []
        return SeekPlan(BASE, tuple(made), 1)


class DialogApp(App[None]):
    """An app that shows only the dialog."""

    def __init__(self, seek_planner: Any) -> None:
        super().__init__()
        self.box, self.found = SetByTimeDialog("s", None, seek_planner), list[SeekPlan | None]()

    def on_mount(self) -> None:
        self.push_screen(self.box, self.found.append)


async def test_enter_before_the_preview_accepts_it_on_arrival() -> None:
    slow = Slow()
    app = DialogApp(slow)
    async with app.run_test() as pilot:
        await pilot.press(*"earliest", "enter")
        await asyncio.wait_for(slow.asked.wait(), 30)
        assert not app.found
        slow.go.set()
        async with asyncio.timeout(30):
            while not app.found:
                await pilot.pause()
    assert app.found[0] is not None and app.found[0].changes[0].after == {"kafka_offset": 0}


async def test_typing_after_enter_cancels_it() -> None:
    slow = Slow()
    app = DialogApp(slow)
    async with app.run_test() as pilot:
        await pilot.press(*"earliest", "enter")
        await asyncio.wait_for(slow.asked.wait(), 30)
        slow.asked.clear()
        await pilot.press("backspace", "t")
        await asyncio.wait_for(slow.asked.wait(), 30)
        slow.go.set()
        async with asyncio.timeout(30):
            while "would change" not in app.box.query_one(Pager).content.plain:
                await pilot.pause()
    assert not app.found


async def test_a_position_without_changes_keeps_the_dialog_open() -> None:
    slow = Slow(moves=False)
    app = DialogApp(slow)
    async with app.run_test() as pilot:
        await pilot.press(*"latest", "enter")
        slow.go.set()
        async with asyncio.timeout(30):
            while "none would change" not in app.box.query_one(Pager).content.plain:
                await pilot.pause()
    assert not app.found


async def test_a_key_that_is_not_bound_leaves_the_dialog_open() -> None:
    async with detached_console() as seen:
        seen.app.push_screen(SetByTimeDialog("s", None, cast(SeekPlanner, Slow())))
        await seen.sees("set s to", EXPECTED[:20])
        await seen.press("ctrl+g", *"-5")
        await seen.until(lambda: seen.app.screen.query_one(Input).value == "-5")
        assert isinstance(seen.app.screen, SetByTimeDialog)

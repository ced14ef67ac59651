"""Drives the console in a test: the real application on a real cluster, without a terminal."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual.pilot import Pilot

from tests.support.waiting import is_over, pause
from tests.unit.tui.screens.builders import snapshot
from tui.app import HeadraceApp
from tui.cluster.snapshot import Diff
from tui.contexts.profiles import Profile
from tui.model import Connector
from tui.screens.base.pop_up import Question
from tui.screens.home import Home

NO_CLUSTER = "http://127.0.0.1:1"  # no worker listens here


class Console:
    """The application with Textual's pilot."""

    def __init__(self, app: HeadraceApp, pilot: Pilot[int]) -> None:
        self.app, self.pilot = app, pilot

    @property
    def home(self) -> Home:
        return self.app.home

    async def press(self, *keys: str) -> None:
        await self.until(lambda: self.home.is_started, "the start")  # earlier keys are held
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, condition: Callable[[], Any], what: str = "", within: float = 30.0) -> Any:
        started = time.monotonic()
        while not (answer := condition()):
            if is_over(started, within):
                raise AssertionError(
                    f"timed out after {time.monotonic() - started:.0f} s: {what or condition}\n{self.text}"
                )
            await self.pilot.pause(pause(started, 0.02))
        return answer

    async def sees(self, *texts: str, within: float = 30.0) -> None:
        """Waits until the screen has started and shows the texts. The list is shown before keys act."""
        shown = " and ".join(texts)
        await self.until(lambda: self.home.is_started and all(text in self.text for text in texts), shown, within)

    async def confirm(self, *keys: str) -> None:
        """Waits until a dialog is shown and accepts keys, then presses the keys."""
        await self.until(lambda: isinstance(self.app.screen, Question) and self.app.screen.armed, "a dialog")
        await self.press(*keys)
        await self.until(lambda: not isinstance(self.app.screen, Question), "the dialog to close")

    async def go(self, name: str) -> None:
        await self.until(lambda: self.home.is_started and name in self.home.connector_list.keys, name)
        self.home.connector_list.go(name)
        await self.pilot.pause()

    @property
    def lines(self) -> list[str]:
        """The lines of the screen, as a terminal would show them."""
        screen = self.app.screen
        strips = screen._compositor.render_strips(self.app.size)
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def text(self) -> str:
        """The text of the screen, with line breaks and frames as blanks, so that wrapped sentences are found."""
        return " ".join("\n".join(self.lines).replace("│", " ").replace("█", " ").split())


@asynccontextmanager
async def console(url: str, width: int = 80, height: int = 24, **profile: Any) -> AsyncIterator[Console]:
    app = HeadraceApp(Profile(url, **profile))
    async with app.run_test(size=(width, height)) as pilot:
        yield Console(app, pilot)


@asynccontextmanager
async def detached_console(
    *connectors: Connector, width: int = 80, height: int = 24, **profile: Any
) -> AsyncIterator[Console]:
    """The console without a cluster, once it has noticed that there is none: only the test updates it. It shows these
    connectors, if any."""
    async with console(NO_CLUSTER, width, height, **profile) as seen:
        await seen.until(lambda: seen.home.services and seen.home.is_stale)
        assert seen.home.services is not None
        seen.home.services.connection.store._publisher._subscribers.clear()
        if connectors:
            update(seen, *connectors)
        yield seen


def update(seen: Console, *some: Connector) -> None:
    """Shows a snapshot of these connectors."""
    seen.home.take_snapshot(snapshot(*some), Diff(link=True))

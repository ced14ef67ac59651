"""The time that refreshes block the event loop: the console without a terminal, and a timer on the same loop."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from contextlib import suppress

from tui.app import HeadraceApp
from tui.contexts.profiles import Profile

TICK = 0.002
REFRESHES = 8


async def longest_pause(url: str) -> list[float]:
    """The longest pause of the loop around each refresh, in milliseconds."""
    app = HeadraceApp(Profile(url))
    async with app.run_test(size=(120, 40)) as pilot:
        while not app.home.connector_list.keys:
            await pilot.pause(0.05)
        await asyncio.sleep(2.0)
        return [await _around(app) for _ in range(REFRESHES)]


async def _around(app: HeadraceApp) -> float:
    worst, before = 0.0, app.home.snapshot.link.heard_at
    app.home.action_refresh()
    last = time.perf_counter()
    end = last + 10.0
    while last < end:
        await asyncio.sleep(TICK)
        now = time.perf_counter()
        worst, last = max(worst, now - last - TICK), now
        if app.home.snapshot.link.heard_at != before:
            await asyncio.sleep(0)
            break
    settled = time.perf_counter() + 0.3  # the screen is drawn after the snapshot
    while last < settled:
        await asyncio.sleep(TICK)
        now = time.perf_counter()
        worst, last = max(worst, now - last - TICK), now
    return worst * 1000


def main() -> None:
    with suppress(KeyboardInterrupt):
        found = asyncio.run(longest_pause(sys.argv[1]))
        print(statistics.median(found), max(found))

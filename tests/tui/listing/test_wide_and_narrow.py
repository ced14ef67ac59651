"""The page beside the list on wide screens; texts that fit narrow ones."""

from __future__ import annotations

from tests.support.console.console import detached_console, update
from tests.unit.tui.screens.builders import connector
from tui.screens.base.reading import Reading
from tui.screens.operations.bulk_screen import BulkMenu
from tui.widgets.bars import StatusBar
from tui.widgets.tabs import Tabs

LONG = "orders-of-the-whole-company-in-all-regions-and-countries"
SOME = (connector("a", tasks=("FAILED",)), connector("b"), connector("c"))


async def test_the_page_is_beside_the_list_and_follows_the_cursor() -> None:
    async with detached_console(*SOME, width=150, height=30) as seen:
        home = seen.home
        await seen.until(lambda: home.is_detail and home.view.name_shown == "a")
        assert home.connector_list.has_focus and not home.is_on_page
        await seen.press("down")
        await seen.until(lambda: home.view.name_shown == "b")
        await seen.press("down", "tab")
        assert home.is_on_page and home.view.name_shown == "c", "a key for the page never acts on another connector"
        await seen.press("escape")
        assert home.is_detail and home.connector_list.has_focus
        home.set_filter("name:b")
        await seen.press("escape")
        assert home.is_detail and not home.filter_text
        await seen.press("escape")
        assert not home.is_detail
        update(seen, *SOME, connector("d"))
        await seen.press("down")
        assert not home.is_detail, "a closed page stays closed"
        await seen.press("enter")
        assert home.is_detail


async def test_a_narrower_screen_shows_the_list_or_the_page_by_the_focus() -> None:
    async with detached_console(*SOME, width=150, height=30) as seen:
        await seen.until(lambda: seen.home.is_detail)
        await seen.pilot.resize_terminal(100, 30)
        await seen.until(lambda: not seen.home.is_detail)
        await seen.pilot.resize_terminal(150, 30)
        await seen.until(lambda: seen.home.is_detail)
        await seen.press("enter")
        await seen.pilot.resize_terminal(100, 30)
        await seen.until(lambda: "NAME" not in seen.text)
        assert seen.home.is_detail


async def test_the_empty_list_says_how_to_start() -> None:
    async with detached_console() as seen:
        update(seen)
        await seen.sees("no connectors yet", "c choose a plugin and create a connector", ":apply -f FILE")
        await seen.sees("c create")


async def test_a_long_filter_leaves_the_number_of_failures_on_a_narrow_screen() -> None:
    async with detached_console(*SOME, width=60, height=20) as seen:
        seen.home.set_filter("-state:paused -state:stopped -class:file -topic:some")
        await seen.sees("✗ 1", "0 of 3 connectors by /-state:paused")


async def test_the_help_fits_sixty_columns() -> None:
    async with detached_console(*SOME, width=60, height=20) as seen:
        await seen.press("question_mark")
        await seen.until(lambda: isinstance(seen.app.screen, Reading))
        screen = seen.app.screen
        assert isinstance(screen, Reading)
        lines = screen._fitted().plain.split("\n")
        assert max(map(len, lines)) <= 60 * 96 // 100 - 4, max(lines, key=len)


async def test_a_long_name_is_shortened_but_not_the_state() -> None:
    async with detached_console(connector(LONG, tasks=("FAILED",)), width=60, height=20) as seen:
        await seen.press("enter")
        await seen.sees("…", "-countries ✗ FAILED tasks 0/1, 1 failed")


async def test_a_long_message_keeps_its_advice() -> None:
    async with detached_console(*SOME, width=60, height=20) as seen:
        seen.home.report(
            "cannot do this: " + "the reason is long " * 30 + "(set bootstrap-servers in the context)", "bad"
        )
        await seen.sees("cannot do this", "…", "(set bootstrap-servers in the context)")
        assert seen.home.query_one(StatusBar).size.height <= 4


async def test_menus_and_tabs_at_sixty_columns() -> None:
    async with detached_console(*SOME, width=60, height=20) as seen:
        await seen.press("b")
        await seen.until(lambda: isinstance(seen.app.screen, BulkMenu))
        lines = [line.strip(" │") for line in seen.lines]
        at = next(number for number, line in enumerate(lines) if line.startswith("p  pause"))
        assert lines[at + 1] == "no records." and seen.lines[at + 1].index("no") == seen.lines[at].index("Tasks")
        await seen.press("escape", "enter")
        await seen.sees("1 overview", "9 metrics")
        assert seen.home.query_one(Tabs).size.height == 2
        await seen.pilot.resize_terminal(60, 17)
        await seen.until(lambda: seen.home.query_one(Tabs).size.height == 1)
        await seen.sees("1 overview", "9 met")
        await seen.pilot.resize_terminal(60, 20)
        await seen.until(lambda: seen.home.query_one(Tabs).size.height == 2)
        await seen.pilot.click(Tabs, offset=(3, 1))
        await seen.until(lambda: seen.home.query_one(Tabs).names[seen.home.query_one(Tabs).index] == "topics")

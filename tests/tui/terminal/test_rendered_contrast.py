"""The contrast of what is drawn: each text of the main screens and dialogs in every theme with fixed colours,
measured as in WCAG. The screen behind a dialog is dimmed on purpose, and not measured."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rich.color import Color
from rich.style import Style
from textual.content import Content
from textual.geometry import Region

from tests.support.console.console import Console
from tests.support.console.snapshot import recorded
from tests.tui.terminal.test_themes import contrast
from tui.appearance import themes
from tui.screens.base.dialog import Dialog
from tui.screens.base.pop_up import PopUp
from tui.screens.connector.pages import PAGES
from tui.screens.operations.actions import ACTIONS
from tui.screens.operations.bulk import chosen
from tui.screens.operations.bulk_screen import question

FRAMES = "─│╭╮╰╯━┃█▁▂▃▄▅▆▇▔▌▊▎┤└┬┴┼· "
KEYS_OF_LIST = (
    ("question_mark",), ("escape", "colon", *"get plugins"), ("enter",), ("escape", "colon", *"nonsense", "enter"),
    ("escape", "ctrl+p"), ("escape", "S"), ("escape", "ctrl+y"), ("escape", "o"), ("escape", "V"),
    ("escape", "slash", *"orders"), ("enter", "asterisk"), ("b",), ("escape", "P"), ("escape", "W"), ("escape", "L"),
    ("escape", "C"), ("escape", "F"), ("escape", "s"),
)  # fmt: skip


def hexadecimal(colour: Color | None, default: str) -> str:
    return default if colour is None or colour.is_default else colour.get_truecolor().hex


def measured(seen: Console) -> Region:
    """The part of the screen that is not behind a dialog."""
    screen = seen.app.screen
    return screen.children[0].region if isinstance(screen, PopUp) else screen.region


def texts(seen: Console) -> Iterator[tuple[str, str, str]]:
    """Each text on the screen with its color and its background."""
    left, top, width, height = measured(seen)
    for strip in seen.app.screen._compositor.render_strips(seen.app.size)[top : top + height]:
        for segment in strip.crop(left, left + width):
            style = segment.style or Style()
            if text := segment.text.strip(FRAMES):
                pair = hexadecimal(style.color, "#ffffff"), hexadecimal(style.bgcolor, "#000000")
                ink, paper = reversed(pair) if style.reverse else pair
                yield text, ink, paper


@pytest.mark.usefixtures("own_folders")
@pytest.mark.parametrize("theme", [one for one in themes.bundled() if not one.ansi], ids=lambda theme: theme.name)
async def test_texts_are_legible(theme: themes.Theme, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_THEME", theme.name)
    found: dict[tuple[str, str], str] = {}  # the first text in these colours, and where it is

    async def look(where: str) -> None:
        await seen.pilot.pause()
        for text, *pair in texts(seen):
            found.setdefault((pair[0], pair[1]), f"{text!r} in {where}")

    async with recorded(120, 40) as seen:
        await seen.sees("orders-log", "polling")
        assert seen.app.theme == theme.name
        await look("the list")
        for keys in KEYS_OF_LIST:
            await seen.press(*keys)
            await look(f"the list after {' '.join(keys)}")
        await seen.press("escape")
        home = seen.home
        targets = chosen(ACTIONS["stop"], home.bulk.targets(), home.operations.pending)
        for dialog in (
            question(ACTIONS["stop"], targets, home.snapshot.connectors, ""),
            Dialog("delete x?", Content("Why"), "delete", name="x", danger=True, why="", option="reset first"),
        ):
            seen.app.push_screen(dialog)
            await look("a question")
            await seen.press("x")
            await look("a confirmed question")
            await seen.press("escape")
        await seen.go("orders-search")
        await seen.press("enter")
        for number, page in enumerate(PAGES, 1):
            await seen.press(str(number))
            await look(f"page {page}")
            if page in ("config", "offsets"):
                await seen.press("e", "x", "ctrl+a")
                await look(f"the editor of {page}")
                await seen.press("escape")
    # The button of a question that is not confirmed yet, which is disabled.
    least = {pair: 3.0 if "'stop 3' in a question" in where else 4.5 for pair, where in found.items()}
    faint = {where: round(contrast(*pair), 2) for pair, where in found.items() if contrast(*pair) < least[pair]}
    assert len(found) > 30 and not faint

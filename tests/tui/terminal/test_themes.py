"""Contrast of every bundled theme: each text color on each background, measured as in WCAG."""

from __future__ import annotations

import math
from collections.abc import Iterator
from importlib.resources import files
from itertools import combinations
from pathlib import Path

import pytest
from rich.segment import Segment
from textual.content import Content

from tests.support.console.console import detached_console
from tests.unit.tui.screens.builders import connector
from tui.appearance import themes
from tui.errors import HeadraceError
from tui.screens.base.dialog import Dialog

# xterm's values of the 16 colors; users may configure others.
DIM = ("#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5")
BRIGHT = ("#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff")
XTERM = dict(zip((*themes.ANSI, *(f"bright_{name}" for name in themes.ANSI)), (*DIM, *BRIGHT), strict=True))


def rgb(colour: str) -> tuple[int, int, int]:
    colour = XTERM[colour.removeprefix("ansi_")] if colour.startswith("ansi_") else colour
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def linear(part: int) -> float:
    share = part / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def luminance(colour: str) -> float:
    red, green, blue = map(linear, rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(ink: str, paper: str) -> float:
    """The terminal's own colours count as white on black, which is legible in any case."""
    one, other = ink.replace("ansi_default", "#ffffff"), paper.replace("ansi_default", "#000000")
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def pairs(theme: themes.Theme) -> Iterator[tuple[str, str]]:
    """Every combination of text color and background: all on all, except for the selection, which is only behind
    edited text, and the frame of a production cluster and a dialog's button, whose background is a text color."""
    inks = [key for key in theme.colours if not key.startswith("paper.") and key != "ink.border"]
    for paper in themes.PAPER:
        for ink in inks:
            if paper != "selection" or not theme.ansi or ink == "ink.foreground" or ink.startswith("json."):
                yield ink, f"paper.{paper}"
    if not theme.ansi:  # there, buttons are black on a colour, and cursors are reversed
        for painted in ("ink.error", "ink.accent", "ink.foreground"):
            yield "paper.background", painted


def test_the_builtin_themes() -> None:
    found = themes.by_name(themes.bundled())
    assert themes.DEFAULT in found
    assert {"dark", "light", "contrast", "safe", "ansi", "mono"} <= {name.removeprefix("headrace-") for name in found}
    assert {theme.dark for theme in found.values()} == {True, False}


@pytest.mark.parametrize("theme", themes.bundled(), ids=lambda theme: theme.name)
def test_contrast_of_text(theme: themes.Theme) -> None:
    least = 7.0 if theme.name == "headrace-contrast" else 4.5
    for ink, paper in pairs(theme):
        found = contrast(theme.colours[ink], theme.colours[paper])
        assert found >= least, f"{theme.name}: {ink} on {paper} is {found:.2f}"


# Machado, Oliveira and Fernandes 2009, severity 1.0: vision without one type of cone.
BLINDNESS = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}


@pytest.mark.parametrize("kind", BLINDNESS)
def test_states_differ_without_red_and_green(kind: str) -> None:
    theme = themes.by_name(themes.bundled())["headrace-safe"]

    def seen(state: str) -> list[float]:
        light = [linear(part) for part in rgb(theme.colours[f"state.{state}"])]
        made = [sum(share * part for share, part in zip(row, light, strict=True)) for row in BLINDNESS[kind]]
        return [255 * max(0.0, min(1.0, part)) ** (1 / 2.2) for part in made]

    for one, other in combinations(("failed", "unassigned", "running", "paused"), 2):
        assert math.dist(seen(one), seen(other)) > 50, f"{one} and {other}"


@pytest.mark.parametrize(
    ("environ", "name"),
    [
        ({"TERM": "xterm-256color"}, "headrace-dark"),
        ({"TERM": "linux"}, "headrace-ansi"),
        ({"TERM": "screen", "COLORTERM": "truecolor"}, "headrace-dark"),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "headrace-mono"),
    ],
)
def test_the_default_theme(environ: dict[str, str], name: str) -> None:
    assert themes.default_for(environ) == name


@pytest.mark.parametrize("theme", themes.bundled(), ids=lambda theme: theme.name)
def test_contrast_of_lines(theme: themes.Theme) -> None:
    assert contrast(theme.colours["ink.border"], theme.colours["paper.background"]) >= 1.7


def test_a_user_theme_replaces_a_builtin_and_an_invalid_one_is_reported(tmp_path: Path) -> None:
    good = (files("themes") / "headrace-dark.toml").read_text("utf-8").replace("#6cb6e8", "#ffffff")
    (tmp_path / "mine.toml").write_text(good)
    (tmp_path / "bad.toml").write_text('name = "bad"\n[ink]\nmuted = "grey"\n')
    (tmp_path / "worse.toml").write_text("no = toml = at all")
    found, complaints = themes.user_themes(tmp_path)
    assert themes.by_name([*themes.bundled(), *found])["headrace-dark"].colours["ink.accent"] == "#ffffff"
    assert len(complaints) == 2 and "bad.toml" in complaints[0] and "worse.toml" in complaints[1]


MIXED = (files("themes") / "headrace-dark.toml").read_text("utf-8").replace("#6cb6e8", "ansi_red")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('name = "x"\n[paint]\n', "paint"),
        ('name = "x"\n[ink]\nbrow = "#000000"', "brow"),
        ("dark = true", "name"),
        ('name = "x"', "background"),
        (MIXED, "all colours must be of one kind"),
    ],
)
def test_errors_in_themes_are_reported(text: str, word: str) -> None:
    with pytest.raises(HeadraceError, match=word):
        themes.parse(text, "x.toml")


def test_failures_stand_out_without_a_hue() -> None:
    found = themes.by_name(themes.bundled())
    styles = {name: theme.textual().variables["state-failed-style"] for name, theme in found.items()}
    assert styles["headrace-mono"] == "bold reverse" and styles["headrace-dark"] == "bold"


def _is_painted(segment: Segment) -> bool:
    style = segment.style
    return style is not None and style.bgcolor is not None and not style.reverse  # the cursor of a text field is


async def test_the_ansi_theme_paints_no_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_THEME", "ansi")
    async with detached_console(connector("one", tasks=("FAILED",)), connector("two"), width=120, height=30) as seen:
        for keys in ((), ("enter",), ("3",), ("9",), ("question_mark",), ("escape", "ctrl+p")):
            await seen.press(*keys)
            strips = seen.app.screen._compositor.render_strips(seen.app.size)
            painted = {str(s.style and s.style.bgcolor) for strip in strips for s in strip if _is_painted(s)}
            assert all("default" in colour for colour in painted), f"after {keys}: {painted}"


async def test_the_focused_button_is_one_block() -> None:
    async with detached_console(connector("one"), width=100, height=30) as seen:
        await seen.go("one")
        seen.app.push_screen(Dialog("stop one?", Content("why"), "stop"))
        await seen.sees("cancel")
        strips = seen.app.screen._compositor.render_strips(seen.app.size)
        row = next(strip for strip in strips if "cancel" in strip.text)
        at = row.text.index("cancel")
        looks = {
            (segment.style.bgcolor, bool(segment.style.reverse))
            for segment in row.crop(at - 2, at + 8)
            if segment.style is not None
        }
        assert len(looks) == 1, looks

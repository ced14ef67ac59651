"""Every bundled theme can be read at 3 a.m.: each ink on each paper, measured as WCAG does."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import pytest

from tui import themes
from tui.errors import HeadraceError


def luminance(colour: str) -> float:
    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(colour[at : at + 2], 16)) for at in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_there_is_a_dark_and_a_light_one() -> None:
    found = themes.by_name(themes.bundled())
    assert themes.DEFAULT in found
    assert {theme.dark for theme in found.values()} == {True, False}


@pytest.mark.parametrize("theme", themes.bundled(), ids=lambda theme: theme.name)
def test_ink_on_paper(theme: themes.Theme) -> None:
    least = 7.0 if theme.name == "headrace-contrast" else 4.5
    inks = {key: value for key, value in theme.colours.items() if not key.startswith("paper.") and key != "ink.border"}
    for paper in themes.PAPER:
        for key, ink in inks.items():
            found = contrast(ink, theme.colours[f"paper.{paper}"])
            assert found >= least, f"{theme.name}: {key} on {paper} is {found:.2f}"


@pytest.mark.parametrize("theme", themes.bundled(), ids=lambda theme: theme.name)
def test_lines_are_seen(theme: themes.Theme) -> None:
    assert contrast(theme.colours["ink.border"], theme.colours["paper.background"]) >= 1.7


def test_the_users_theme_replaces_and_a_bad_one_is_named(tmp_path: Path) -> None:
    good = (files("themes") / "headrace-dark.toml").read_text("utf-8").replace("#6cb6e8", "#ffffff")
    (tmp_path / "mine.toml").write_text(good)
    (tmp_path / "bad.toml").write_text('name = "bad"\n[ink]\nmuted = "grey"\n')
    (tmp_path / "worse.toml").write_text("no = toml = at all")
    found, complaints = themes.of_user(tmp_path)
    assert themes.by_name([*themes.bundled(), *found])["headrace-dark"].colours["ink.accent"] == "#ffffff"
    assert len(complaints) == 2 and "bad.toml" in complaints[0] and "worse.toml" in complaints[1]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('name = "x"\n[paint]\n', "paint"),
        ('name = "x"\n[ink]\nbrow = "#000000"', "brow"),
        ("dark = true", "name"),
        ('name = "x"', "background"),
    ],
)
def test_what_is_wrong_is_named(text: str, word: str) -> None:
    with pytest.raises(HeadraceError, match=word):
        themes.parse(text, "x.toml")

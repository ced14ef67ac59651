"""The renderer of the pictures: lines and colours of a screen, frames with their times, the still frame."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import SVG_EXPORT_THEME as TERMINAL

from docs.moving_picture import Frame, Line, line, render, terminal_colour

INK, PAPER = "#d5dbe3", "#14181d"


def screen(*rows: str) -> tuple[Line, ...]:
    return tuple(line([Segment(row)], INK, PAPER) for row in rows)


def shown(svg: str, time: float) -> list[int]:
    """The frames that the key frames of the picture show, at a share of its duration."""
    found = []
    for number, steps in re.findall(r"@keyframes k(\d+)\{((?:[^{}]*\{[^{}]*\})*)\}", svg):
        visible = ""
        for names, value in re.findall(r"([^{}]+)\{visibility:(\w+)\}", steps):
            start = min(1.0 if name == "to" else float(name.rstrip("%")) / 100 for name in names.split(","))
            visible = value if start <= time else visible
        found += [int(number)] * (visible == "visible")
    return found


def test_segments_of_equal_style_are_one_run() -> None:
    bold = Style(color="#ff0000", bold=True)
    assert line([Segment("a"), Segment("b", Style()), Segment("c", bold), Segment("d", bold)], INK, PAPER) == (
        ("ab", INK, PAPER, False),
        ("cd", "#ff0000", PAPER, True),
    )


def test_reverse_and_dim() -> None:
    ((_, colour, behind, _),) = line([Segment("x", Style(reverse=True))], INK, PAPER)
    assert (colour, behind) == (PAPER, INK)
    ((_, colour, _, _),) = line([Segment("x", Style(color="#ffffff", bgcolor="#000000", dim=True))], INK, PAPER)
    assert colour.lower() in ("#7f7f7f", "#808080")


def test_colours_of_the_terminal() -> None:
    style = Style(color=Color.default(), bgcolor="default")
    assert line([Segment("x", style)], INK, PAPER) == (("x", INK, PAPER, False),)
    ((_, colour, _, _),) = line([Segment("x", Style(color="red"))], INK, PAPER)
    assert colour == TERMINAL.ansi_colors[1].hex
    assert terminal_colour("#123456", True) == "#123456"
    assert terminal_colour("ansi_default", False) == TERMINAL.background_color.hex


@pytest.mark.parametrize(("second", "frame"), [(0.5, 0), (1.5, 1), (2.9, 1), (3.5, 2)])
def test_each_frame_is_shown_alone_for_its_time(second: float, frame: int) -> None:
    times = (1.0, 2.0, 1.0)
    svg = render([Frame(screen(f"frame {n}"), seconds, str(n)) for n, seconds in enumerate(times)], 1, PAPER)
    assert shown(svg, second / sum(times)) == [frame]
    assert f"animation:{sum(times):g}s step-end infinite" in svg


def test_the_still_frame_is_shown_without_animation() -> None:
    svg = render([Frame(screen("one"), 1, "first"), Frame(screen("two"), 1, "second")], 1, PAPER)
    assert '<g id="f1" class="f s">' in svg and '<g id="f0" class="f">' in svg and "<title>second</title>" in svg
    assert ".f{visibility:hidden" in svg and ".s{visibility:visible}" in svg
    assert "@media(prefers-reduced-motion:reduce){g.f{animation:none!important}}" in svg


def test_one_frame_is_not_animated() -> None:
    svg = render([Frame(screen("alone"), 1, "dark")], 0, PAPER)
    assert "animation" not in svg and "visibility" not in svg and ">alone<" in svg


@pytest.mark.parametrize(("paper", "caption"), [(PAPER, "#c8ccd4"), ("#fbfbf9", "#4a515c")])
def test_the_caption_is_legible_on_any_background(paper: str, caption: str) -> None:
    assert f".c{{fill:{caption}}}" in render([Frame(screen("alone"), 1, "light")], 0, paper)


def test_equal_lines_are_stored_once_and_texts_are_escaped() -> None:
    frames = [Frame(screen("<same> & line", "other 1"), 1, "a<b"), Frame(screen("<same> & line", "other 2"), 1, "c")]
    svg = render(frames, 0, PAPER)
    texts = [text.text for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("<same>\u00a0&\u00a0line") == 1 and "a<b" in texts
    assert svg.count('href="#l0"') == 2


def test_columns_keep_their_places_whatever_the_font() -> None:
    runs = line([Segment("ab  "), Segment(" cd", Style(bgcolor="#ffffff"))], INK, PAPER)
    svg = render([Frame((runs,), 1, "")], 0, PAPER)
    assert 'x="10" y="13.5" textLength="16.8"' in svg and 'x="52" y="13.5" textLength="16.8"' in svg
    assert '<rect x="43.6" width="25.2" height="18" fill="#ffffff"/>' in svg

"""Frames of a terminal as one SVG with CSS animation: no script, no font, equal lines stored once.

Without animation, and for readers who prefer reduced motion, the picture shows its still frame. A picture of one frame
is not animated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.terminal_theme import SVG_EXPORT_THEME as TERMINAL
from textual.color import Color

WIDTH, HEIGHT, TITLE = 8.4, 18, 34  # pixels: a cell, a line, the bar with the caption
Line = tuple[tuple[str, str, str, bool], ...]  # text, colour, background, bold


@dataclass(frozen=True, slots=True)
class Frame:
    """A screen, how long it is shown, in seconds, and its caption."""

    lines: tuple[Line, ...]
    seconds: float
    caption: str


def line(segments: Iterable[Segment], foreground: str, background: str) -> Line:
    """The runs of equal style in a line of the screen; colours default to those of the theme."""
    runs: list[tuple[str, str, str, bool]] = []
    for segment in segments:
        style = segment.style
        colour = _hex(style.color, foreground) if style else foreground
        behind = _hex(style.bgcolor, background) if style else background
        if style and style.reverse:
            colour, behind = behind, colour
        if style and style.dim:
            colour = Color.parse(colour).blend(Color.parse(behind), 0.5).hex
        key = (colour, behind, bool(style and style.bold))
        if runs and runs[-1][1:] == key:
            runs[-1] = (runs[-1][0] + segment.text, *key)
        else:
            runs.append((segment.text, *key))
    return tuple(runs)


def terminal_colour(colour: str, is_foreground: bool) -> str:
    """A theme's colour; for those that leave it to the terminal, that of the terminal in the picture."""
    default = TERMINAL.foreground_color if is_foreground else TERMINAL.background_color
    return colour if colour.startswith("#") else default.hex


def _hex(colour: RichColor | None, default: str) -> str:
    return default if colour is None or colour.is_default else colour.get_truecolor(TERMINAL).hex


def render(frames: list[Frame], still: int, background: str) -> str:
    """The picture. `still` is the index of the frame that is shown without animation."""
    columns = sum(len(run[0]) for run in frames[0].lines[0])
    width, height = columns * WIDTH + 20, len(frames[0].lines) * HEIGHT + TITLE + 10
    is_dark = Color.parse(background).brightness < 0.5
    numbers: dict[Line, int] = {}
    for frame in frames:
        for row in frame.lines:
            numbers.setdefault(row, len(numbers))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height}" role="img">',
        f"<title>{escape(frames[still].caption)}</title>",
        f"<style>{_style(frames)}.c{{fill:{'#c8ccd4' if is_dark else '#4a515c'}}}</style>",
        f'<rect width="{width:g}" height="{height}" rx="8" fill="{background}"/>',
        '<circle cx="20" cy="17" r="6" fill="#ff5f57"/><circle cx="40" cy="17" r="6" fill="#febc2e"/>',
        '<circle cx="60" cy="17" r="6" fill="#28c840"/>',
        f"<defs>{''.join(_drawn(row, number, background) for row, number in numbers.items())}</defs>",
        *(_frame(frame, index, index == still, numbers, width) for index, frame in enumerate(frames)),
        "</svg>\n",
    ]
    return "\n".join(parts)


def _style(frames: list[Frame]) -> str:
    rules = [
        "text{font:14px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}.b{font-weight:700}",
        "rect{shape-rendering:crispEdges}",
    ]
    return "".join([*rules, *(_animation(frames) if len(frames) > 1 else ())])


def _animation(frames: list[Frame]) -> list[str]:
    total = sum(frame.seconds for frame in frames)
    rules = [f".f{{visibility:hidden;animation:{total:g}s step-end infinite}}.s{{visibility:visible}}"]
    start = 0.0
    for index, frame in enumerate(frames):
        end = start + frame.seconds
        begin = f"0%{{visibility:hidden}}{start / total:.3%}" if start else "0%"
        hidden = f"{end / total:.3%},to{{visibility:hidden}}" if frame is not frames[-1] else ""
        rules.append(
            f"@keyframes k{index}{{{begin}{{visibility:visible}}{hidden}}}#f{index}{{animation-name:k{index}}}"
        )
        start = end
    return [*rules, "@media(prefers-reduced-motion:reduce){g.f{animation:none!important}}"]


def _frame(frame: Frame, index: int, still: bool, numbers: dict[Line, int], width: float) -> str:
    uses = "".join(
        f'<use href="#l{numbers[row]}" y="{TITLE + number * HEIGHT}"/>' for number, row in enumerate(frame.lines)
    )
    caption = f'<text x="{width / 2:g}" y="22" class="c" text-anchor="middle">{escape(frame.caption)}</text>'
    return f'<g id="f{index}" class="f{" s" if still else ""}">{caption}{uses}</g>'


def _drawn(row: Line, number: int, background: str) -> str:
    return f'<g id="l{number}">{"".join(_runs(row, background))}</g>'


def _runs(row: Line, background: str) -> Iterator[str]:
    """Rectangles and texts. `textLength` keeps the columns whatever font the reader has."""
    start = 0
    for text, colour, behind, bold in row:
        if behind != background:
            size = f'width="{len(text) * WIDTH:g}" height="{HEIGHT}"'
            yield f'<rect x="{10 + start * WIDTH:g}" {size} fill="{behind}"/>'
        first = start + len(text) - len(text.lstrip())
        if words := text.strip():
            at = f'x="{10 + first * WIDTH:g}" y="13.5" textLength="{len(words) * WIDTH:g}"'
            shown = escape(words, quote=False).replace(" ", "\u00a0")
            bolder = ' class="b"' if bold else ""
            yield f'<text {at} fill="{colour}"{bolder}>{shown}</text>'
        start += len(text)

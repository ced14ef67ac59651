"""Each state has a word, a glyph and a colour, so that none of the three carries the meaning alone."""

from __future__ import annotations

from tui.model import SEVERITY

# All one cell wide, and in the fonts of plain terminals.
GLYPHS = {
    "FAILED": "✗",
    "UNASSIGNED": "○",
    "RESTARTING": "↻",
    "UNKNOWN": "?",
    "RUNNING": "●",
    "PAUSED": "‖",
    "STOPPED": "■",
    "DESTROYED": "×",
}
# Component classes; a widget that lists them in COMPONENT_CLASSES gets the theme's colours by STATE_CSS.
CLASSES = {state: f"state--{state.lower()}" for state in SEVERITY if state != "DESTROYED"}


def glyph(state: str) -> str:
    return GLYPHS.get(state, "?")


def word(state: str) -> str:
    """`● RUNNING`."""
    return f"{glyph(state)} {state}"


def style_class(state: str) -> str:
    return CLASSES.get(state, CLASSES["UNKNOWN"])


def css(widget: str) -> str:
    """The rules that colour the states inside a widget."""
    rules = [f"{widget} > .{name} {{ color: $state-{name.removeprefix('state--')}; }}" for name in CLASSES.values()]
    return "\n".join([*rules, f"{widget} > .{CLASSES['FAILED']} {{ text-style: bold; }}"])

"""The word, glyph and colour of each state, none of which carries the meaning alone."""

from __future__ import annotations

from tui.model import SEVERITY

# One cell wide, and available in the fonts of plain terminals.
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
# Component classes; a widget that lists them in COMPONENT_CLASSES gets their colours by `css`.
CLASSES = {state: f"state--{state.lower()}" for state in SEVERITY if state != "DESTROYED"}


def glyph(state: str) -> str:
    """The glyph of a state."""
    return GLYPHS.get(state, "?")


def word(state: str) -> str:
    """Glyph and word: `● RUNNING`."""
    return f"{glyph(state)} {state}"


def without_glyph(text: str) -> str:
    """The word of a text such as `● RUNNING`."""
    return text[2:] if text[1:2] == " " and text[:1] in GLYPHS.values() else text


def style_class(state: str) -> str:
    """The component class of a state."""
    return CLASSES.get(state, CLASSES["UNKNOWN"])


def css(widget: str) -> str:
    """The CSS rules for the states in a widget."""
    rules = [f"{widget} > .{name} {{ color: $state-{name.removeprefix('state--')}; }}" for name in CLASSES.values()]
    return "\n".join([*rules, f"{widget} > .{CLASSES['FAILED']} {{ text-style: $state-failed-style; }}"])


def style(state: str) -> str:
    """The style of a state in a text; a failure stands out without colours, too."""
    name = style_class(state).removeprefix("state--")
    return f"$state-failed-style $state-{name}" if state == "FAILED" else f"bold $state-{name}"

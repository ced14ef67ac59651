"""A screen for reading text: the result of a command, the help, a stack trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import ClassVar

from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Label

from tui.commands.registry import commands
from tui.commands.result import Result
from tui.screens.base.key_catching import ReportsKeys
from tui.screens.base.pop_up import PopUp
from tui.script import output
from tui.script.folding import folded
from tui.widgets.jsontext import coloured
from tui.widgets.pager import Pager
from tui.widgets.text import visible, visible_lines

Fitted = Callable[[int], Content]  # the content for a width in cells
FRAME = 6  # cells of the frame and the scroll bar
KEY = 13  # cells of a key
HALF = 22  # least cells for the text of a key in a line with two keys


class Reading(PopUp[None], ReportsKeys):
    """Covers the screen until it is closed by Escape, q, Enter or ^C."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter,ctrl+c,question_mark", "close", "close", key_display="esc"),
        Binding("up,down,left,right,pageup,pagedown", "none", "scroll", key_display="↑↓ ←→", show=True),
    ]

    def __init__(self, title: str, content: Fitted, *, sideways: bool = False) -> None:
        super().__init__()
        self.title_text, self.content, self.sideways = title, content, sideways

    def contents(self) -> ComposeResult:
        yield Label(Content(visible(self.title_text)), id="title")
        yield Pager(self._fitted(), sideways=self.sideways)

    def on_mount(self) -> None:
        self.query_one(Pager).focus()

    def report(self, text: str, kind: str = "info") -> None:
        """Shows a text after the title."""
        title = Content.assemble(visible(self.title_text), ("  " + visible(text), "$foreground"))
        self.query_one("#title", Label).update(title)

    def on_resize(self) -> None:
        self.query_one(Pager).put(self._fitted())

    def _fitted(self) -> Content:
        """The content for the width within the frame."""
        return self.content(self.app.size.width * 96 // 100 - FRAME)


def plain(text: str) -> Content:
    return Content("\n".join(visible_lines(text)))


def of_result(result: Result, wide: bool) -> Content:
    """The result as a script prints it."""
    if result.table is not None:
        return plain(output.draw(result.table, wide))
    return plain(result.text)


def page(line: str, result: Result, form: str = "") -> Reading:
    """The result of a typed command in an output format of `-o`; by default a table with the columns that fit."""
    title = f":{line}"
    if form not in ("", "table", "wide"):
        text = output.render(result, form)
        return Reading(title, lambda _: coloured(text) if form == "json" else plain(text.rstrip("\n")))
    if result.parts:
        return Reading(title, lambda _: plain(output.text_of(result, wide=form == "wide").rstrip("\n")), sideways=True)
    if result.table is None or result.is_confirmation:  # messages of a server are shown in full
        return Reading(title, lambda width: plain(_prose(result, width)))
    return Reading(title, lambda width: plain(_columns(result, form, width)), sideways=True)


def _columns(result: Result, form: str, width: int) -> str:
    assert result.table is not None
    text = output.draw(result.table, wide=form != "table")
    if form or all(cell_len(line) <= width for line in text.splitlines()):
        return text
    return output.draw(result.table, wide=False)


def _prose(result: Result, width: int) -> str:
    if result.table is not None:
        return folded(output.draw(result.table, wide=True), width)
    return folded(result.text, width) if result.prose else result.text


def help_text(active: Sequence[ActiveBinding], display: Callable[[Binding], str], width: int) -> Content:
    """The keys that work on the screen from which the help was opened, then every command."""
    keys: dict[str, tuple[Binding, list[str]]] = {}
    for key in sorted(active, key=_rank):
        if key.enabled and _is_ours(key):
            keys.setdefault(key.binding.action, (key.binding, []))[1].append(display(key.binding))
    parts: list[str | tuple[str, str]] = [("keys that work here\n", "bold $accent")]
    parts += _in_columns(
        [(" ".join(dict.fromkeys(names)), binding.tooltip or binding.description) for binding, names in keys.values()],
        width,
    )
    if "bulk" in keys:  # the list of connectors
        parts += _about_filters(width)
    where = "tab completes, ↑ recalls earlier commands" if "command" in keys else "typed in the list of connectors"
    parts += [("\ncommands\n", "bold $accent"), (f":  {where}\n", "$text-muted")]
    for command in commands():
        usage = folded(f"  {command.usage()}", width)
        summary = folded(f"      {command.summary()}", width)
        parts += [(f"{usage}\n", "bold"), (f"{summary}\n", "$text-muted")]
    return Content.assemble(*parts)


def _about_filters(width: int) -> list[str | tuple[str, str]]:
    example = folded("  /state:failed type:sink class:file worker:10.0 part-of-name", width)
    rules = folded("  all terms must match; -x excludes x; space marks, * marks all, b acts on them", width)
    return [("\nfilter\n", "bold $accent"), f"{example}\n", (f"{rules}\n", "$text-muted")]


def _in_columns(keys: Sequence[tuple[str, str]], width: int) -> list[str | tuple[str, str]]:
    """Two keys in a line where both fit; longer texts are folded beside their keys."""
    parts: list[str | tuple[str, str]] = []
    room = max(HALF, width // 2 - KEY - 1)
    half = False  # whether the current line has room for a second key
    for key, text in keys:
        rest = room - max(0, len(key) - (KEY - 3))  # beside a long key
        wide = len(text) > rest or width < 2 * (HALF + KEY)
        if half and wide:
            parts.append("\n")
        if wide:
            lines = wrap(text, max(20, width - KEY)) or [""]
            text = ("\n" + " " * KEY).join(lines)
        parts += [(f"  {key:<10} ", "bold"), text if wide or half else f"{text:<{rest}}"]
        half = not half and not wide
        if not half:
            parts.append("\n")
    return [*parts, "\n"] if half else parts


def _rank(active: ActiveBinding) -> tuple[bool, bool, int]:
    """Keys of the screen first, then those of widgets, then those of the application; each in order of declaration."""
    declared = [binding.action for kind in type(active.node).__mro__ for binding in _declared(kind)]
    place = declared.index(active.binding.action) if active.binding.action in declared else len(declared)
    return isinstance(active.node, App), not isinstance(active.node, Screen), place


def _is_ours(active: ActiveBinding) -> bool:
    """Whether the binding is declared in this program, not by Textual."""
    ours = (kind for kind in type(active.node).__mro__ if kind.__module__.startswith("tui."))
    return any(active.binding.action == binding.action for kind in ours for binding in _declared(kind))


def _declared(kind: type) -> list[Binding]:
    return [binding for binding in vars(kind).get("BINDINGS", ()) if isinstance(binding, Binding)]

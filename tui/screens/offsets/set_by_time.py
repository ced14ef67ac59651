"""Dialog for setting a sink by time: position, partitions, and a preview in records while typing."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, Label

from tui.errors import HeadraceError, UsageError
from tui.formatting import counted, local_time
from tui.model import Offset
from tui.offsets.positions import EXAMPLES, EXPECTED, Position, TimePosition, parse
from tui.offsets.seek import SeekPlan, SeekPlanner, SeekRequest
from tui.screens.base.pop_up import PopUp
from tui.screens.offsets import wording
from tui.widgets.field import TextField
from tui.widgets.pager import Pager
from tui.widgets.text import visible

PREVIEW_DELAY = 0.35  # seconds after the last key
Scope = tuple[str | None, int | None]


class SetByTimeDialog(PopUp[SeekPlan | None]):
    """Returns the chosen plan, whose preview was shown."""

    DEFAULT_CSS = """
    SetByTimeDialog > Vertical { width: 76; max-width: 96%; height: 20; max-height: 92%; }
    SetByTimeDialog #title { color: $foreground; }
    SetByTimeDialog Input { border: none; height: 1; width: 1fr; background: $surface; padding: 0 1; margin: 1 0 0 0; }
    SetByTimeDialog #scope, SetByTimeDialog #examples { color: $text-muted; width: 1fr; height: 1; }
    SetByTimeDialog Pager { margin: 1 0 0 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "edit", key_display="⏎"),
        Binding("tab", "complete(1)", "complete"),
        Binding("shift+tab", "complete(-1)", "complete back", show=False),
        Binding("up,down", "scope", "partitions", key_display="↑↓"),
        Binding("pageup", "scroll(-5)", "page up", show=False),
        Binding("pagedown", "scroll(5)", "page down", show=False),
        Binding("escape,ctrl+c", "leave", "back", key_display="esc"),
    ]

    def __init__(self, name: str, here: Offset | None, seek_planner: SeekPlanner) -> None:
        super().__init__()
        self.connector_name, self.seek_planner = name, seek_planner
        self.scopes: list[Scope] = [(None, None)]
        if here is not None and here.is_sink:
            topic, partition = here.partition["kafka_topic"], int(here.partition["kafka_partition"])
            self.scopes += [(topic, None), (topic, partition)]
        self.scope = 0
        self.seek_plan: SeekPlan | None = None
        self._target: SeekRequest | None = None  # being resolved now
        self._resolved_text: str | None = None  # the text of the preview
        self._chosen = False  # Enter was pressed before the preview: it is taken as soon as it arrives
        self._typed = ""  # the text that is completed
        self._timer: Timer | None = None

    def contents(self) -> ComposeResult:
        yield Label(Content(visible(f"set {self.connector_name} to")), id="title")
        yield TextField(self.action_choose)
        yield Label(id="examples")
        yield Label(id="scope")
        yield Pager()

    def on_mount(self) -> None:
        self.query_one("#examples", Label).update(Content(f"e.g. {'  '.join(EXAMPLES)}  2026-01-31T12:00Z"))
        self.query_one(Pager).can_focus = False
        self.query_one(Input).focus()
        self.draw_scope()
        self.explain(Content.assemble((EXPECTED, "$text-muted")))

    def draw_scope(self) -> None:
        topic, partition = self.scopes[self.scope]
        words = "all partitions" if topic is None else f"topic {topic}" if partition is None else f"{topic}-{partition}"
        self.query_one("#scope", Label).update(Content.assemble("for ", (visible(words), "bold")))

    def explain(self, content: Content) -> None:
        self.query_one(Pager).put(content, top=True)

    # Input

    @property
    def text(self) -> str:
        return self.query_one(Input).value.strip()

    def on_input_changed(self, event: Input.Changed) -> None:
        if self.text != self._resolved_text:  # Enter may arrive before the text's change event
            self.changed()

    def changed(self) -> None:
        self.seek_plan, self._target, self._chosen, self._resolved_text = None, None, False, None
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(PREVIEW_DELAY, self.resolve_position)

    def resolve_position(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._resolved_text = text = self.text
        if not text:
            self.explain(Content.assemble((EXPECTED, "$text-muted")))
            return
        try:
            position = parse(text)
        except UsageError as error:
            self.explain(Content.assemble((visible(error.message), "$warning")))
            return
        self.explain(Content.assemble((f"resolving {position}…", "$text-muted")))
        self._target = SeekRequest(position, *self.scopes[self.scope])
        self.run_worker(self.resolve(self._target), exclusive=True, exit_on_error=False)

    async def resolve(self, target: SeekRequest) -> None:
        try:
            seek_plan = await self.seek_planner.resolve(self.connector_name, target)
        except HeadraceError as error:
            self._chosen = False
            self.explain(Content.assemble((visible(str(error)), "$error")))
            return
        if target is not self._target:  # the text has changed meanwhile
            return
        self.seek_plan = seek_plan
        self.explain(preview(seek_plan, target))
        if self._chosen:
            self.action_choose()

    # Keys

    def action_complete(self, step: int) -> None:
        field = self.query_one(Input)
        if field.value not in EXAMPLES:
            self._typed = field.value
        fitting = [example for example in EXAMPLES if example.startswith(self._typed)] or list(EXAMPLES)
        place = fitting.index(field.value) + step if field.value in fitting else 0
        field.value = fitting[place % len(fitting)]
        field.cursor_position = len(field.value)

    def action_scope(self) -> None:
        self.scope = (self.scope + 1) % len(self.scopes)
        self.draw_scope()
        self.changed()

    def action_scroll(self, by: int) -> None:
        self.query_one(Pager).scroll_relative(y=by, animate=False)

    def action_choose(self) -> None:
        """Takes the plan into the editor; a plan without changes stays here, with a text that says so."""
        if self.seek_plan is None or self.text != self._resolved_text:
            self.seek_plan, self._chosen = None, True
            self.resolve_position()
        elif self.seek_plan.changes:
            self.dismiss(self.seek_plan)

    def action_leave(self) -> None:
        self.dismiss(None)


def _as_understood(position: Position) -> str:
    """A time in UTC, in which times without a zone are understood, and in the local zone of all times on the screen."""
    if not isinstance(position, TimePosition):
        return ""
    utc, local = str(position), local_time(position.milliseconds)
    return f"to {utc}: " if local.replace(" ", "T") + "Z" == utc else f"to {utc}, here {local}: "


def preview(seek_plan: SeekPlan, target: SeekRequest) -> Content:
    """The position as understood, the total, and each partition."""
    head = _as_understood(target.position)
    if not seek_plan.changes:
        none = Content(f"{head}{counted(seek_plan.seen, 'partition')}, none would change")
        return Content("\n").join([none, wording.diff(seek_plan.held, 100)]) if seek_plan.held else none
    effect, moving = seek_plan.effect, counted(len(seek_plan.changes), "partition")
    total = f"{head}{moving} would change: {effect.total}"
    what_next = Content.assemble(("\nenter opens the editor with these offsets; nothing is sent yet", "$text-muted"))
    return Content("\n").join([Content.assemble((total, "bold")), wording.diff(seek_plan.changes, 100), what_next])

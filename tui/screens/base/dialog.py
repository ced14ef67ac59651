"""Confirmation dialogs: `cancel` has the focus, and keys typed before the dialog was visible are ignored."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Button, Input, Label, Static

from tui.screens.base.pop_up import Question
from tui.widgets.bars import LEAST_HEIGHT
from tui.widgets.field import TextField
from tui.widgets.in_order import forward, forward_queued, run_screen_binding
from tui.widgets.pager import Pager
from tui.widgets.text import visible

LONG = 22
"""Characters; of a longer name so many suffice to confirm."""
MOST_HEIGHT, FRAME = 92, 2  # percent of the screen, and lines of the frame
LEAST_BODY = 2  # lines


class Answer(Button):
    """Keys act in the order in which they are typed, on the dialog or in its name field."""

    def __init__(self, label: Content, id: str) -> None:
        super().__init__(label, id=id, compact=True)
        self.remove_class("-style-default")  # Textual's style with frames, which themes of terminal colours enforce

    async def on_key(self, event: events.Key) -> None:
        dialog = self.screen
        assert isinstance(dialog, Dialog)
        if dialog.focused is not self:
            forward(self, event)
        elif not (dialog.type_in(event) or (event.key != "enter" and await run_screen_binding(self, event.key))):
            return
        event.stop()
        event.prevent_default()
        forward_queued(self)


class Dialog(Question[bool]):
    """Returns True if confirmed. With `name`, that text has to be typed to confirm; of a long name, its start or its
    length suffices, of one that is not ASCII its length. `option` can be switched on, which `has_option` tells. With
    `why`, a reason can be given or edited; `why` holds it afterwards."""

    DEFAULT_CSS = """
    Dialog > Vertical { width: 76; max-width: 96%; height: auto; max-height: 92%; }  /* MOST_HEIGHT */
    Dialog.-danger > Vertical { border: round $error; }
    Dialog #title { color: $foreground; }
    Dialog Pager { height: auto; margin: 1 0 0 0; }
    Dialog #option { margin: 1 0 0 0; }
    Dialog .field { display: none; height: 1; margin: 1 0 0 0; }
    Dialog.-typed #typed, Dialog.-asks-why #reason { display: block; }
    Dialog .field Input { border: none; height: 1; width: 1fr; background: $surface; padding: 0 1; }
    Dialog .field Input:ansi, Dialog .field Input:nocolor { text-style: underline; }  /* without its background */
    Dialog #option { width: 1fr; height: auto; }
    Dialog #buttons { height: 1; margin: 1 0 0 0; align-horizontal: right; }
    Dialog.-low .field, Dialog.-low #option, Dialog.-low #buttons { margin: 0; }
    Dialog Button {
        background: $surface; color: $text-muted; border: none; height: 1; min-width: 10; margin: 0 0 0 2; padding: 0 2;
    }
    Dialog Button:disabled { color: $text-muted; text-opacity: 100%; }
    Dialog Button:disabled:ansi { text-style: dim; }
    Dialog Button:focus { background: $accent; color: $on-accent; text-style: bold; }
    Dialog.-danger Button#yes:focus { background: $error; color: $on-accent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "yes", "yes"),
        Binding("w", "why", "give a reason", tooltip="the reason is kept in the history"),
        Binding("ctrl+o", "option", "option"),
        Binding("n,escape,ctrl+c", "no", "no", key_display="n/esc"),
        Binding("escape,ctrl+c", "leave", "no", key_display="esc"),  # where a name is typed, n may be its first letter
        Binding("up,k", "scroll(-1)", "up", show=False),
        Binding("down,j", "scroll(1)", "down", show=False),
        Binding("pageup", "scroll(-10)", "page up", show=False),
        Binding("pagedown", "scroll(10)", "page down", show=False),
        Binding("left,right,tab,shift+tab", "other", "choose", show=False),
    ]

    def __init__(
        self, title: str, body: Content, yes: str, *, name: str = "", danger: bool = False, why: str | None = None,
        option: str = "",
    ) -> None:  # fmt: skip
        super().__init__()
        self.set_class(danger or bool(name), "-danger")
        self.set_class(bool(name), "-typed")
        self.set_class(why is not None, "-asks-why")
        self.title_text, self.body, self.yes, self.wanted = title, body, yes, name
        self.asks_why, self.why = why is not None, why or ""
        self.option, self.has_option = option, False
        self._entered_early = False  # the name was confirmed by Enter before keys are accepted
        self._refused = ""  # the last text that Enter did not confirm

    def contents(self) -> ComposeResult:
        yield Label(Content(visible(self.title_text)), id="title")
        yield Pager(self.body)
        if self.option:
            yield Label(self._option_line(), id="option")
        with Horizontal(id="reason", classes="field"):
            yield Label(Content(f"reason ({'tab' if self.wanted else 'w'}): "))
            hint = "optional; it is kept in the history"
            yield TextField(self.entered_why, self.why, hint, id="why")
        with Horizontal(id="typed", classes="field"):
            yield Label(self._request(), id="wants")
            yield TextField(self.entered_name, hint=self.hint, id="name")
        with Horizontal(id="buttons"):
            yield Answer(Content("cancel"), id="no")
            yield Answer(Content(visible(self.yes)), id="yes")

    def on_mount(self) -> None:
        self.query_one(Pager).can_focus = False
        self.query_one("#no").focus()
        if self.wanted:
            self.query_one("#yes", Button).disabled = True

    def on_resize(self) -> None:
        self.set_class(self.app.size.height < LEAST_HEIGHT, "-low")
        self.call_after_refresh(self._limit_body)

    def _limit_body(self) -> None:
        """Where the question does not fit, its body scrolls: the buttons and the keys are never cut off."""
        box, pager = self.query_one("Vertical"), self.query_one(Pager)
        others = [child for child in box.children if child.display and child is not pager]
        taken = sum(child.outer_size.height + child.styles.margin.height for child in others)
        room = self.app.size.height * MOST_HEIGHT // 100 - FRAME - taken - pager.styles.margin.height
        pager.styles.max_height = max(LEAST_BODY, room)

    def arm(self) -> None:
        super().arm()
        self.call_after_refresh(self._limit_body)
        if self._entered_early:
            self.entered_name()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("yes", "leave", "no"):
            return bool(self.wanted) is (action == "leave") and (self.armed or action != "yes")
        if action == "option":
            return bool(self.option)
        if action == "why":
            return self.armed and self.asks_why and not self.wanted
        return self.armed or action not in ("other", "scroll")  # the widgets may not be mounted yet

    @property
    def kind(self) -> str:
        return "the number" if self.wanted.isdecimal() else "the name"

    def _request(self, text: str = "") -> Content:
        """What to type; of `text`, that it does not confirm, once Enter has tried."""
        return Content(f"not {self.kind} yet: " if text and text == self._refused else f"type {self.kind}: ")

    @property
    def is_long(self) -> bool:
        return len(self.wanted) > LONG

    @property
    def hint(self) -> str:
        if self.is_long:
            return f"or {LONG} characters of it, or {len(self.wanted)}"
        return "" if self.wanted.isascii() else f"or {len(self.wanted)}, its number of characters"

    def is_confirmed_by(self, text: str) -> bool:
        """Whether this text confirms."""
        if text == self.wanted:
            return True
        if text == str(len(self.wanted)):  # not every keyboard has the characters of other alphabets
            return self.is_long or not self.wanted.isascii()
        return self.is_long and len(text) >= LONG and self.wanted.startswith(text)

    @property
    def name_field(self) -> TextField:
        return self.query_one("#name", TextField)

    def type_in(self, event: events.Key) -> bool:
        """The name can be typed at once, without moving to its field; only Enter waits until the dialog is armed."""
        typed = event.is_printable and event.character is not None
        if not (self.wanted and self.is_mounted and (typed or event.key == "backspace")):
            return False
        self.set_focus(self.name_field)
        forward(self.name_field, event)
        return True

    def on_paste(self, event: events.Paste) -> None:
        """As with typing, the name goes to its field, whichever widget has the focus."""
        event.stop()
        if self.wanted and self.is_mounted:
            self.name_field.focus()
            self.name_field.paste(event.text)

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "why":
            self.why = event.value.strip()
        else:
            self.query_one("#yes", Button).disabled = not self.is_confirmed_by(event.value)
            self.query_one("#wants", Label).update(self._request(event.value))

    def entered_why(self) -> None:
        self.set_focus(self.name_field if self.wanted else self.query_one("#no"))

    def entered_name(self) -> None:
        self._entered_early = not self.armed and self.is_confirmed_by(self.name_field.value)
        if self._entered_early:
            return
        if self.is_confirmed_by(self.name_field.value):
            self.why = self.query_one("#why", TextField).value.strip()
            self.dismiss(True)
        else:
            self._refused = self.name_field.value
            self.query_one("#wants", Label).update(self._request(self._refused))

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if self.armed:
            self.dismiss(event.button.id == "yes")

    def action_scroll(self, by: int) -> None:
        self.query_one(Pager).scroll_relative(y=by, animate=False)

    def action_yes(self) -> None:
        self.dismiss(True)

    def _option_line(self) -> Content:
        return Content(f"[{'x' if self.has_option else ' '}] {self.option} (^o)")

    def action_option(self) -> None:
        self.has_option = not self.has_option
        self.query_one("#option", Label).update(self._option_line())

    def action_why(self) -> None:
        self.set_focus(self.query_one("#why"))

    def action_no(self) -> None:
        self.dismiss(False)

    def action_leave(self) -> None:
        self.dismiss(False)

    def action_other(self) -> None:
        focused = self.focused
        order: list[Static | Button | Input] = [self.query_one("#no", Button)]
        if self.asks_why:
            order.append(self.query_one("#why", Input))
        if self.wanted:
            order.append(self.name_field)
        if not self.query_one("#yes", Button).disabled:
            order.append(self.query_one("#yes", Button))
        place = order.index(focused) if focused in order else -1
        self.set_focus(order[(place + 1) % len(order)])

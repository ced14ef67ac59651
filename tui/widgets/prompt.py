"""The prompt at the bottom: `/` for filters, `:` for commands, with completion and history."""

from __future__ import annotations

from asyncio import Event
from collections.abc import Callable, Iterable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.suggester import Suggester
from textual.widgets import Input, Label

Completer = Callable[[str], list[str]]
SubmitHandler = Callable[[str, str], None]  # takes the sign and the text


class _Ghost(Suggester):
    """Suggests the most likely completion after the cursor."""

    def __init__(self, prompt: Prompt) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self.prompt = prompt

    async def get_suggestion(self, value: str) -> str | None:
        completions = self.prompt.completions(value)
        return completions[0] if completions else None


class PromptInput(Input):
    """The prompt's input; its bindings take precedence over those of Input."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "submit"),
        Binding("tab", "complete", "complete"),
        Binding("up", "history(-1)", "history", key_display="↑"),
        Binding("down", "history(1)", "next", show=False),
        Binding("escape,ctrl+c", "leave", "cancel", key_display="esc"),
    ]

    def __init__(self, prompt: Prompt) -> None:
        super().__init__(compact=True, suggester=_Ghost(prompt), select_on_focus=False)
        self.prompt = prompt

    async def on_key(self, event: events.Key) -> None:
        """Runs bindings immediately: letters typed after them would otherwise overtake them, since bindings act only
        after bubbling up to the app. Keys typed after Enter are forwarded to the widget that has the focus now."""
        action = IMMEDIATE_KEYS.get(event.key)
        if self.prompt.is_open and action is None:
            return
        event.stop()
        event.prevent_default()
        if not self.prompt.is_open:
            (self.screen.focused or self.screen)._forward_event(events.Key(event.key, event.character))
        elif action is not None:
            await self.run_action(action)

    async def action_submit(self) -> None:
        self.prompt.submit()

    def action_complete(self) -> None:
        self.prompt.complete()

    def action_history(self, step: int) -> None:
        self.prompt.recall(step)

    def action_leave(self) -> None:
        self.prompt.leave()

    def on_blur(self, event: events.Blur) -> None:
        # `has_focus` is still set; and the prompt may have regained the focus
        if self.prompt.is_open and self.screen.focused is not self:
            self.prompt.leave(blurred=True)


def _actions(bindings: Iterable[BindingType]) -> dict[str, str]:
    inherited = (binding for binding in bindings if isinstance(binding, Binding))
    return {key.strip(): binding.action for binding in inherited for key in binding.key.split(",")}


IMMEDIATE_KEYS = {**_actions(Input.BINDINGS), **_actions(PromptInput.BINDINGS)}


class Prompt(Horizontal):
    """A prompt, hidden until `open`. Enter calls `submitted`."""

    DEFAULT_CSS = """
    Prompt { height: 1; background: $panel; padding: 0 1; }
    Prompt > Label { color: $accent; text-style: bold; width: 1; }
    Prompt > Input, Prompt > Input:focus { background: $panel; border: none; width: 1fr; height: 1; padding: 0; }
    """

    class Typed(Message):
        """The text changed."""

        def __init__(self, sign: str, text: str) -> None:
            super().__init__()
            self.sign, self.text = sign, text

    class Left(Message):
        """The prompt was left by Escape or by a change of focus."""

        def __init__(self, sign: str) -> None:
            super().__init__()
            self.sign = sign

    def __init__(self, submitted: SubmitHandler, id: str | None = None) -> None:
        super().__init__(id=id)
        self.submitted = submitted
        self.display = False
        self.closed = Event()
        self.sign = ":"
        self.completer: Completer = lambda text: []
        self.history: dict[str, list[str]] = {":": [], "/": []}
        self._at = 0
        self._draft = ""

    def compose(self) -> ComposeResult:
        yield Label(":", markup=False)
        yield PromptInput(self)

    @property
    def input(self) -> Input:
        return self.query_one(PromptInput)

    def open(self, sign: str, text: str, completer: Completer) -> None:
        """Shows the prompt with the sign `:` or `/` and a text, and focuses it. A filter is selected, so that what is
        typed replaces it."""
        self.sign, self.completer = sign, completer
        self._at = len(self.history[sign])
        self.query_one(Label).update(sign)
        with self.prevent(Input.Changed):
            self.input.value = text
        self.input.cursor_position = len(text)
        if sign == "/":
            self.input.select_all()
        self.closed.clear()
        self.display = True
        self.screen.set_focus(self.input)  # immediately: the next key may already be queued

    def close(self) -> None:
        """Hides the prompt."""
        self.display = False
        self.closed.set()

    @property
    def is_open(self) -> bool:
        return self.display

    def leave(self, blurred: bool = False) -> None:
        if self.is_open:
            self.close()
            if not blurred or self.sign == ":":
                self.post_message(self.Left(self.sign if not blurred else ""))
            if blurred:
                self.screen.refresh_bindings()

    def completions(self, text: str) -> list[str]:
        return self.completer(text) if text else []

    def complete(self) -> None:
        """Inserts the common prefix of all completions, and a blank after a single one."""
        completions = self.completions(self.input.value)
        if completions:
            text = _common(completions)
            self.put(text + (" " if len(completions) == 1 and self.sign == ":" and not text.endswith(" ") else ""))

    def put(self, text: str) -> None:
        """Sets the text, with the cursor at its end."""
        self.input.value = text
        self.input.cursor_position = len(text)

    def catch(self, event: events.Key) -> bool:
        """Takes a key typed directly after `/` or `:`, which was sent to the widget that had the focus before; over SSH
        several keys may arrive at once. Returns whether the key was taken. If another widget has taken the focus
        meanwhile, as the list of a screen that starts, the prompt takes it back, with its keys."""
        if not self.is_open:
            return False
        is_typed = event.is_printable and event.character is not None
        was_left = self.screen.focused is not self.input
        if not is_typed and not (was_left and event.key in IMMEDIATE_KEYS):
            return False
        event.stop()
        event.prevent_default()
        if was_left:
            self.screen.set_focus(self.input)
        if is_typed:
            self.input.replace(event.character or "", *self.input.selection)
        else:
            self.input._forward_event(events.Key(event.key, event.character))
        return True

    def recall(self, step: int) -> None:
        """Moves through the history by `step` lines."""
        lines = self.history[self.sign]
        if self._at == len(lines):
            self._draft = self.input.value
        self._at = min(max(self._at + step, 0), len(lines))
        self.put(lines[self._at] if self._at < len(lines) else self._draft)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.is_open and event.value == self.input.value:  # otherwise outdated
            self.post_message(self.Typed(self.sign, event.value))

    def submit(self) -> None:
        """Closes the prompt and calls `submitted` directly, not by a message, since keys typed after Enter may
        already be queued and apply to its effect."""
        text = self.input.value.strip()
        history = self.history[self.sign]
        if text and (not history or history[-1] != text):
            history.append(text)
        self.close()
        self.submitted(self.sign, text)


def _common(lines: list[str]) -> str:
    first, last = min(lines), max(lines)
    end = next((at for at, (letter, other) in enumerate(zip(first, last, strict=False)) if letter != other), None)
    return first[: end if end is not None else min(len(first), len(last))]

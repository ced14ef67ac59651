"""The main screen's typed line: `/` filters as it is typed, `:` takes a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from tui.screens.base import program
from tui.screens.home import filtering
from tui.widgets.bars import KeyBar

if TYPE_CHECKING:
    from tui.screens.home.screen import Home
    from tui.widgets.prompt import Prompt


SCREENS = ("clusters", "plugins", "workers", "loggers", "log")  # typed or by key: the same


class TypedLine:
    """Opens the prompt and does what was typed."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._prompt: Prompt | None = None

    async def mount(self) -> None:
        """After the first paint: what a text field needs takes a while to load."""
        from tui.widgets.prompt import Prompt

        self._prompt = Prompt(self.submitted)
        await self.home.mount(self._prompt, before=self.home.query_one(KeyBar))

    @property
    def prompt(self) -> Prompt:
        assert self._prompt is not None
        return self._prompt

    @property
    def is_open(self) -> bool:
        return self._prompt is not None and self._prompt.is_open

    async def closed(self) -> None:
        """Returns when nothing is being typed."""
        if self._prompt is not None and self._prompt.is_open:
            await self._prompt.closed.wait()

    def filter(self) -> None:
        there = self.home.snapshot.connectors
        self.prompt.open("/", self.home.filter_text, lambda text: filtering.complete(text, there.values()))
        self.home.refresh_bindings()

    def command(self, text: str = "") -> None:
        from tui.screens.home import typed_lines as past_lines

        if not self.prompt.history[":"]:
            self.prompt.history[":"] = past_lines.load(past_lines.file())
        self.prompt.open(":", text, self.complete)
        self.hint(text)
        self.home.refresh_bindings()

    def complete(self, line: str) -> list[str]:
        """The commands' words, or the screen's own."""
        from tui.script.completing import complete

        names = self.home.around.labels() if "use-context " in line else self.home.snapshot.connectors
        own = [word for word in (*SCREENS, "theme ", "quit") if word.startswith(line) and word != line]
        found = complete(line, names)
        return own if own and found == [f"{line} "] else [*found, *own]

    def hint(self, line: str) -> None:
        from tui.script.completing import hint

        self.home.say(hint(line, self.home.snapshot.connectors))

    def catch(self, event: events.Key) -> bool:
        return self._prompt is not None and self._prompt.catch(event)

    def typed(self, event: Prompt.Typed) -> None:
        if not self.is_open:
            return  # Enter was quicker
        if event.sign == "/":
            self.home.set_filter(event.text.strip())
        else:
            self.hint(event.text)

    def submitted(self, sign: str, text: str) -> None:
        if sign == "/" and text != self.home.filter_text:
            self.home.set_filter(text)
        self.back_to_work()
        if sign == ":" and text:
            from tui.screens.home import typed_lines as past_lines

            past_lines.add(past_lines.file(), text)
            self.run(text)

    def left(self, event: Prompt.Left) -> None:
        if event.sign == "/":
            self.home.set_filter("")
        if event.sign:
            self.back_to_work()

    def back_to_work(self) -> None:
        """The focus goes where it was before the prompt."""
        home = self.home
        home.say("")
        if home.is_detail and not home.is_broad:
            home.view.take_focus()
        else:
            home.set_focus(home.board)  # at once: the next key may be here already
        home.refresh_bindings()

    def run(self, line: str) -> None:
        """The screen's own few words; all others are commands."""
        words = line.split()
        if line in ("q", "quit", "exit"):
            self.home.action_quit()
        elif line in SCREENS:
            self.home.call_later(self.home.run_action, line)
        elif words[0] == "theme":
            program.of(self.home).choose_theme(words[1:])
        elif self.home.flows is not None and not self.home.around.typed(line):
            self.home.flows.typed(line)

"""The prompt of the main screen: `/` filters while it is typed, `:` takes a command."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from textual import events

from tui.client.workers import reported
from tui.errors import HeadraceError
from tui.screens.home.base import HomeBase
from tui.screens.listing import filtering
from tui.screens.listing.ordering import ORDERS
from tui.widgets.bars import KeyBar, StatusBar

if TYPE_CHECKING:
    from tui.widgets.prompt import Prompt


SCREENS = (
    "clusters",
    "topics",
    "plugins",
    "workers",
    "loggers",
    "log",
    "deleted",
)  # as commands, the same as by their keys
SORTS = ("sort", *(f"sort {name}" for name in ORDERS))


class CommandLine:
    """Opens the prompt, completes, and hands commands to `run`; `contexts` lists the names of contexts."""

    def __init__(self, home: HomeBase, run: Callable[[str], None], contexts: Callable[[], list[str]]) -> None:
        self.home, self._run, self._contexts = home, run, contexts
        self._prompt: Prompt | None = None
        self._reported: frozenset[str] = frozenset()

    async def mount(self) -> None:
        """Adds the prompt to the screen, after the first paint: Textual's input field takes a while to import."""
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
        connectors = self.home.snapshot.connectors
        self.prompt.open("/", self.home.filter_text, lambda text: filtering.complete(text, connectors.values()))
        self.home.refresh_bindings()

    def command(self, text: str = "") -> None:
        from tui.screens.home import command_history

        if not self.prompt.history[":"]:
            self.prompt.history[":"] = command_history.load(command_history.file())
        self.home.do(self._read_workers())
        self.prompt.open(":", text, self.complete)
        self.hint(text)
        self.home.refresh_bindings()

    def complete(self, line: str) -> list[str]:
        """Completions of a command, or of the commands that exist only on the screen."""
        from tui.script.completing import complete

        names = self._contexts() if "use-context " in line else self.home.snapshot.connectors
        own = [word for word in (*SCREENS, *SORTS, "theme ", "quit") if word.startswith(line) and word != line]
        completions = complete(line, names, self._workers(), contexts=self._contexts())
        return own if own and completions == [f"{line} "] else [*completions, *own]

    def hint(self, line: str) -> None:
        from tui.script.completing import hint

        room = self.home.query_one(StatusBar).room
        self.home.report(hint(line, self.home.snapshot.connectors, self._workers(), room))

    def _workers(self) -> set[str]:
        """The workers that the statuses of connectors name, and those that the group reported."""
        connectors = self.home.snapshot.connectors.values()
        named = {
            worker
            for connector in connectors
            for worker in (connector.worker, *(task.worker for task in connector.tasks))
            if worker
        }
        return named | self._reported

    async def _read_workers(self) -> None:
        """Reads the workers of a Headrace cluster: statuses do not name those without connectors and tasks."""
        services = self.home.services
        if services is not None and services.is_ours:
            with suppress(HeadraceError):
                self._reported = frozenset(reported(await services.connect.workers()).workers)

    def catch(self, event: events.Key) -> bool:
        """Takes a key that no widget handled, if the prompt is open."""
        return self._prompt is not None and self._prompt.catch(event)

    def typed(self, event: Prompt.Typed) -> None:
        if not self.is_open:
            return  # Enter was processed first
        if event.sign == "/":
            self.home.set_filter(event.text.strip())
        else:
            self.hint(event.text)

    def submitted(self, sign: str, text: str) -> None:
        self._restore_focus()
        if sign == "/":
            self.home.filter_by(text)
        if sign == ":" and text:
            from tui.screens.home import command_history

            command_history.add(command_history.file(), text)
            self._run(text)

    def left(self, event: Prompt.Left) -> None:
        if event.sign == "/":
            self.home.set_filter("")
        if event.sign:
            self._restore_focus()
        else:
            self.home.report("")  # the hints

    def _restore_focus(self) -> None:
        """The focus returns to where it was before the prompt opened."""
        home = self.home
        home.report("")
        if home.is_detail and not home.is_broad:
            home.view.take_focus()
        else:
            home.set_focus(home.connector_list)  # at once: the next key may already be waiting
        home.refresh_bindings()

"""The loggers of a worker: levels, search, setting a level on this worker or on all."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tui.client.client import Connect
from tui.errors import HeadraceError, error_line
from tui.formatting import counted, format_duration
from tui.screens.base.key_menu import KeyMenu
from tui.screens.base.list_screen import ListScreen, closing
from tui.widgets.bars import Bar, KeyBar, StatusBar
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.prompt import Prompt
from tui.widgets.text import visible

# By the key that sets them.
LEVELS = {"f": "FATAL", "e": "ERROR", "w": "WARN", "i": "INFO", "d": "DEBUG", "t": "TRACE", "o": "OFF"}
STYLES = {"FATAL": "grid--error", "ERROR": "grid--error", "WARN": "grid--warning", "DEBUG": "grid--accent"}
COLUMNS = (
    Column("name", "LOGGER", 30, grows=True),
    Column("level", "LEVEL", 7),
    Column("since", "CHANGED", 10, right=True),
)


class LevelChange(NamedTuple):
    """A new level for a logger; `scope` is `worker` or `cluster`."""

    logger: str
    level: str
    scope: str


SetLevel = Callable[[LevelChange], Awaitable[bool]]


class LevelMenu(KeyMenu[LevelChange]):
    """A level is chosen by its first letter; `c` switches between this worker and all workers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(Binding(key, f"pick('{level}')", level, show=False) for key, level in LEVELS.items()),
        Binding("c", "scope", "this worker or all"),
        Binding("escape,q,ctrl+c", "close", "close", key_display="esc"),
    ]

    def __init__(self, logger: str, level: str) -> None:
        super().__init__()
        self.logger, self.level, self.scope = logger, level, "worker"

    def heading(self) -> str:
        where = "on this worker" if self.scope == "worker" else "on every worker of the cluster"
        return f"level of {visible(self.logger)} {where}"

    def choices(self) -> list[str | tuple[str, str]]:
        parts: list[str | tuple[str, str]] = []
        for key, level in LEVELS.items():
            mark = "  is set" if level == self.level else ""
            parts += [(f"  {key}", "bold $accent"), f"  {level:<6}", (f"{mark}\n", "$text-muted")]
        return parts

    def action_scope(self) -> None:
        self.scope = "cluster" if self.scope == "worker" else "worker"
        self.draw()

    def action_pick(self, level: str) -> None:
        self.dismiss(LevelChange(self.logger, level, self.scope))


class LoggersScreen(ListScreen[None]):
    """Shows the response of `GET /admin/loggers`; `set_level` is run as a logged operation."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "set level", priority=True),
        Binding("slash", "filter", "filter", key_display="/"),
        Binding("a", "another", "by name"),
        Binding("f5,ctrl+l", "ask", "refresh"),
        closing("escape,q,L,ctrl+c"),
    ]

    def __init__(self, label: str, connect: Connect, set_level: SetLevel, refusal: str = "") -> None:
        super().__init__()
        self.label, self.connect, self.set_level = label, connect, set_level
        self.refusal = refusal  # why no level can be set; empty if levels can be set
        self.loggers: dict[str, Any] = {}
        self.filter_text = ""

    def compose(self) -> ComposeResult:
        yield Bar(id="title")
        yield Grid(COLUMNS, sortable=True)
        yield StatusBar()
        yield Prompt(self.submitted)
        yield KeyBar()

    def on_mount(self) -> None:
        self.grid.empty = "reading the loggers…"
        self.draw()
        self.action_ask()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "open":
            return not self.query_one(Prompt).is_open if self.query(Prompt) else True
        return True

    def is_idle(self, action: str) -> bool:
        return bool(self.refusal) and action in ("open", "another")

    def catch(self, event: events.Key) -> bool:
        """Takes a key that no widget handled, if the prompt is open."""
        return self.is_started and self.query_one(Prompt).catch(event)

    # Display

    def action_ask(self) -> None:
        self.run_worker(self._ask(), exclusive=True, group="ask", exit_on_error=False)

    async def _ask(self) -> None:
        try:
            self.loggers = await self.connect.loggers()
        except HeadraceError as error:
            self.grid.empty = ""
            self.report(error_line(error), "bad")
        else:
            self.grid.empty = "this worker lists no loggers; a sets the level of a logger by name"
        self.draw()

    def draw(self) -> None:
        shown = sorted(name for name in self.loggers if self.filter_text.lower() in name.lower())
        grid = self.grid
        if self.loggers and not shown:
            grid.empty = f"nothing matches /{visible(self.filter_text)}"
        grid.show(shown, self.cells, {"name": max((len(name) for name in shown), default=0)}, follow=True)
        words = counted(len(self.loggers), "logger") if self.loggers else ""
        if words and self.filter_text:
            words = f"{len(shown):,} of {words} by /{visible(self.filter_text)}"
        self.head(f"loggers of {visible(self.label)}", words)

    def cells(self, name: str) -> Mapping[str, Cell]:
        level = self._level(name)
        return {
            "name": Cell(name),
            "level": Cell(level, STYLES.get(level, "grid--muted")),
            "since": Cell(_since(self.loggers[name]), "grid--muted"),
        }

    def _level(self, name: str) -> str:
        known = self.loggers.get(name)
        return str(known.get("level") or "") if isinstance(known, dict) else ""

    # Finding and setting

    def action_filter(self) -> None:
        self.query_one(Prompt).open("/", self.filter_text, lambda text: [])

    def action_another(self) -> None:
        self.report("the name of a logger, for example org.apache.kafka.connect.runtime; it includes child loggers")
        self.query_one(Prompt).open(
            ":", "", lambda text: [name for name in sorted(self.loggers) if name.startswith(text)]
        )

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        event.stop()
        if event.sign == "/":
            self.filter_text = event.text.strip()
            self.draw()

    def submitted(self, sign: str, text: str) -> None:
        if sign == "/":
            self.filter_text = text
            self.draw()
        self.set_focus(self.grid)
        self.report("")
        if sign == ":" and text:
            self.run_worker(self._set(text), exit_on_error=False)

    def on_prompt_left(self, event: Prompt.Left) -> None:
        event.stop()
        if event.sign == "/":
            self.filter_text = ""
            self.draw()
        self.report("")
        self.set_focus(self.grid)

    def opened(self, key: str) -> None:
        self.run_worker(self._set(key), exit_on_error=False)

    async def _set(self, logger: str) -> None:
        if self.refusal:
            self.report(self.refusal, "bad")
            return
        change = await self.app.push_screen_wait(LevelMenu(logger, self._level(logger)))
        if change is not None and await self.set_level(change):
            await self._ask()

    def action_close(self) -> None:
        if self.filter_text:
            self.filter_text = ""
            self.draw()
        else:
            super().action_close()


def _since(entry: Any) -> str:
    at = entry.get("last_modified") if isinstance(entry, dict) else None
    return f"{format_duration(time.time() - at / 1000)} ago" if isinstance(at, int | float) else ""

"""The tabs events and log: events seen by this console, lines logged by a Headrace worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tui.errors import HeadraceError, Refused
from tui.formatting import one_line, short_time
from tui.model import Connector
from tui.screens.base import log_lines
from tui.screens.base.pane import Note, Pane
from tui.screens.base.program import copy
from tui.screens.services.cluster_services import ClusterServices
from tui.screens.services.event_history import BAD, GOOD, WARN, Event
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.pager import Pager

STYLES = {BAD: "grid--error", WARN: "grid--warning", GOOD: "grid--success"}
EVENT_COLUMNS = (
    Column("time", "TIME", 8, grows=True),
    Column("about", "ABOUT", 9, grows=True),
    Column("text", "EVENT", 30, grows=True),
)
MAX_LINES = 500


class EventsPane(Pane):
    """Events since the console was opened, newest first."""

    FOCUS = "#happened"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "copy", "copy", tooltip="copy these events as text")]

    def __init__(self, services: ClusterServices, id: str = "events") -> None:
        super().__init__(services, id)
        self.events: tuple[Event, ...] = ()

    def compose(self) -> ComposeResult:
        yield Grid(EVENT_COLUMNS, id="happened")
        yield Note("event-text")

    def on_mount(self) -> None:
        self.query_one(Grid).empty = "no events since the console was opened"

    def draw(self) -> None:
        self.events = self.services.events.of(self.name_shown)[::-1]
        rows = {f"{len(self.events) - place}": event for place, event in enumerate(self.events)}
        widths = {"text": max((len(event.text) for event in self.events), default=0), "about": 9}
        widths["time"] = max((len(short_time(event.at)) for event in self.events), default=0)
        grid = self.query_one(Grid)
        grid.show(list(rows), lambda key: _cells(rows[key]) if key in rows else {}, widths)
        self._show_full(grid.current)

    def _show_full(self, key: str | None) -> None:
        """Shows the full text of the event under the cursor if the table cuts it."""
        event = self.events[len(self.events) - int(key)] if key else None
        self.query_one(Note).report(event.text if event and 0 < self.size.width < len(event.text) + 22 else "")

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()
        self._show_full(event.key)

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()

    def action_copy(self) -> None:
        text = "\n".join(f"{short_time(event.at)} {event.subject}: {event.text}" for event in self.events[::-1])
        copy(self, text, f"{len(self.events)} events")


def _cells(event: Event) -> Mapping[str, Cell]:
    return {
        "time": Cell(short_time(event.at), "grid--muted"),
        "about": Cell(event.subject, "grid--muted"),
        "text": Cell(event.text, STYLES.get(event.kind, "")),
    }


class LogPane(Pane):
    """The last lines that a Headrace worker logged for the connector and its tasks."""

    FOCUS = "#lines"
    interval = 2.0
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "follow", "follow", tooltip="stay at the newest line"),
        Binding("w", "warnings", "warnings only", tooltip="all lines, or warnings and errors"),
        Binding("y", "copy", "copy", tooltip="copy these lines as text"),
    ]

    def __init__(self, services: ClusterServices, id: str = "log") -> None:
        super().__init__(services, id)
        self.lines: Sequence[Mapping[str, Any]] = ()
        self.instead = ""  # the reason, if there are no lines
        self.follows, self.only_warnings, self._asking = True, False, False

    def compose(self) -> ComposeResult:
        yield Note("log-note")
        yield Pager(id="lines")

    def reset(self) -> None:
        self.lines, self.instead = (), "reading the log…"

    def show(self, connector: Connector | None) -> None:
        """A new snapshot of the connector is usually accompanied by a log line."""
        news = connector is not self.connector
        super().show(connector)
        if news and self.is_seen:
            self.fetch()

    def fetch(self) -> None:
        if not self.services.is_ours:
            self.instead = log_lines.NO_LOG
            self.draw()
        elif self.connector is not None and not self._asking:
            self._asking = True
            self.services.do(self._read(self.connector))

    async def _read(self, connector: Connector) -> None:
        try:
            lines: Sequence[Mapping[str, Any]] = await self.services.connect.logs(connector.name, MAX_LINES)
            instead = "" if lines else log_lines.NOTHING_LOGGED
        except Refused as error:
            lines, instead = (), one_line(error.message)
        except HeadraceError as error:
            lines, instead = self.lines, one_line(error.message)
        finally:
            self._asking = False
        if connector.name == self.name_shown and (lines, instead) != (self.lines, self.instead):
            self.lines, self.instead = lines, instead
            self.draw()
            self.refresh_bindings()

    def draw(self) -> None:
        chosen = [line for line in self.lines if not self.only_warnings or log_lines.is_warning(line)]
        words = [f"last {len(chosen)} lines", "warnings and errors" if self.only_warnings else "all levels"]
        words.append("following (f)" if self.follows else "not following (f)")
        self.query_one(Note).report(self.instead if self.instead else ", ".join(words))
        pager = self.query_one(Pager)
        pager.put(log_lines.content(chosen))
        if self.follows and chosen:
            self.call_after_refresh(lambda: pager.scroll_end(animate=False))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return bool(self.lines)

    def why_not(self, action: str) -> str:
        return self.instead

    def action_follow(self) -> None:
        self.follows = not self.follows
        self.draw()

    def action_warnings(self) -> None:
        self.only_warnings = not self.only_warnings
        self.draw()

    def action_copy(self) -> None:
        copy(self, self.query_one(Pager).content.plain, "the lines")

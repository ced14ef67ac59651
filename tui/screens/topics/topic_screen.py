"""One topic: its consumer groups with their lag, partitions, configurations, connectors, and its growth."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from tui.errors import HeadraceError, error_line
from tui.formatting import counted, format_duration, one_line
from tui.screens.base.navigation import OpenRecords
from tui.screens.base.page import Page
from tui.screens.services.cluster_services import ClusterServices
from tui.screens.topics.topic_tables import COLUMNS, TABLES, Rows, TopicState, rows, shown_rate
from tui.topics.topic_details import EndsSample, TopicInspector, growth
from tui.topics.usage import add_observed, uses
from tui.widgets.bars import Bar
from tui.widgets.grid import Cell, Grid
from tui.widgets.tabs import Tabs
from tui.widgets.text import visible

INTERVAL = 5.0  # seconds between two reads of the offsets
MAX_SAMPLES = 13  # a minute, over which the growth in the head line is measured
EMPTY = {
    "groups": "no consumer group has offsets in this topic",
    "configs": "all configurations have their defaults",
    "connectors": "no connector uses this topic",
}


class TopicLinks(NamedTuple):
    """The screens that rows lead to, and the reader of the topic."""

    records: Callable[[OpenRecords], None]
    connector: Callable[[str, str], None]  # its name, and the page
    inspector: Callable[[Mapping[str, str], str], TopicInspector]  # Kafka settings, and the topic


class TopicScreen(Page):
    """Reads everything once, and the offsets of the topic and its groups every INTERVAL."""

    DEFAULT_CSS = """
    TopicScreen #facts { padding: 0 1; }
    TopicScreen Tabs { margin: 0 0 1 0; }
    TopicScreen Grid { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "open",
            "open",
            priority=True,
            tooltip="the sink of this group, the records of this partition, the connector",
        ),
        Binding("v", "records", "records", tooltip="the records of the topic, or of this partition"),
        *(Binding(str(number), f"table('{name}')", name, show=False) for number, name in enumerate(TABLES, 1)),
        Binding("left,h", "turn(-1)", "previous table", show=False),
        Binding("right,l,tab", "turn(1)", "next table", show=False),
        Binding("f5,ctrl+l", "reload", "read again", key_display="F5"),
    ]

    def __init__(self, services: ClusterServices, topic: str, links: TopicLinks) -> None:
        super().__init__(services)
        self.topic, self.links = topic, links
        self.state = TopicState()
        self.table = TABLES[0]
        self.samples: deque[EndsSample] = deque(maxlen=MAX_SAMPLES)
        self._inspector: TopicInspector | None = None
        self._rows: Rows = {}
        self._busy = False

    def body(self) -> ComposeResult:
        yield Bar(id="facts")
        yield Tabs(TABLES)
        yield Grid(COLUMNS[self.table], id="rows", sortable=True)

    @property
    def grid(self) -> Grid:
        return self.query_one(Grid)

    def on_mount(self) -> None:
        self.grid.empty = "reading from the brokers…"
        self.grid.focus()
        self.draw()
        self.action_reload()
        self.set_interval(INTERVAL, self._read_progress)
        self.set_interval(1.0, self._take_states)

    # Reading

    def action_reload(self) -> None:
        if not self._busy:
            self._busy = True
            self.report("reading from the brokers", "busy")
            self.run_worker(self._read(), exit_on_error=False)

    async def _read(self) -> None:
        try:
            self._take_states()
            inspector = self._inspector = self.links.inspector(await self.services.kafka(), self.topic)
            connectors = self.services.snapshot.connectors
            used = uses(connectors.values(), [self.topic])
            with suppress(HeadraceError):  # without the worker, connectors whose configs name the topic are known
                await add_observed(self.services.connect, connectors.values(), used)
            self.state = self.state._replace(used=used[self.topic], connectors=connectors)
            self.draw()
            sinks = [connectors[use.connector] for use in used[self.topic] if use.role == "read"]
            details = await asyncio.to_thread(inspector.details, sinks)
        except HeadraceError as error:
            self.grid.empty = one_line(error.message)
            self.report(error_line(error), "bad")
        else:
            self.state = self.state._replace(details=details)
            self._measure()
            self.report("; ".join(details.notes), "warn" if details.notes else "info")
        finally:
            self._busy = False
        self.draw()

    def _read_progress(self) -> None:
        if self.state.details is not None and not self._busy and self.is_current:
            self._busy = True
            self.run_worker(self._progress(), exit_on_error=False)

    async def _progress(self) -> None:
        inspector, details = self._inspector, self.state.details
        assert inspector is not None and details is not None
        try:
            details = await asyncio.to_thread(inspector.with_progress, details)
        except HeadraceError as error:
            self.report(error_line(error), "bad")
        else:
            self.state = self.state._replace(details=details)
            self._measure()
        finally:
            self._busy = False
        self.draw()

    def _measure(self) -> None:
        """The growth since the previous read."""
        assert self.state.details is not None
        now = EndsSample(time.monotonic(), self.state.details.summary.latest)
        if self.samples:
            self.state = self.state._replace(rates=growth(self.samples[-1], now))
        self.samples.append(now)

    def _take_states(self) -> None:
        """Shows the states of connectors in the newest snapshot."""
        if self.services.snapshot.connectors is not self.state.connectors:
            self.state = self.state._replace(connectors=self.services.snapshot.connectors)
            self.draw()

    # Display

    def draw(self) -> None:
        self._rows = rows(self.table, self.state)
        if self.state.details is not None or (self.table == "connectors" and not self._busy):
            self.grid.empty = EMPTY.get(self.table, "")
        widths: dict[str, int] = {}
        for cells in self._rows.values():
            for column, cell in cells.items():
                widths[column] = max(widths.get(column, 0), len(cell.text))
        self.grid.show(list(self._rows), self._cells, widths)
        self.query_one(Tabs).pick(TABLES.index(self.table))
        self._draw_facts()
        self.refresh_bindings()

    def _cells(self, key: str) -> Mapping[str, Cell]:
        return self._rows.get(key, {})

    def _draw_facts(self) -> None:
        details = self.state.details
        end = counted(details.summary.records, "record") if details is not None else ""
        self.head(("topic", "bold $accent"), f"  {visible(self.topic)}", end=end)
        if details is None:
            return
        copies = max(len(each.replicas) for each in details.replicas)
        parts: list[Any] = [f"{counted(len(details.replicas), 'partition')} × {counted(copies, 'replica')}"]
        if details.degraded:
            parts.append((f"  {details.degraded:,} not in sync", "bold $error"))
        self.query_one("#facts", Bar).put(Content.assemble(*parts), Content.assemble(*self._growth()))

    def _growth(self) -> list[str | tuple[str, str]]:
        """The growth since the last read, and over all samples."""
        if len(self.samples) < 2:
            return [("growth …", "$text-muted")]
        first, last = self.samples[0], self.samples[-1]
        mean = sum(growth(first, last).values())
        since = format_duration(last.at - first.at)
        now = sum(self.state.rates.values())
        return [f"{shown_rate(now)} records/s", (f", {shown_rate(mean)} over {since}", "$text-muted")]

    # Keys

    def allows(self, action: str) -> bool:
        if action == "open":
            return self._target() is not None
        return True

    def action_table(self, name: str) -> None:
        """Shows one of the tables, with the cursor on its first row."""
        if name != self.table:
            self.table = name
            self.grid.set_columns(COLUMNS[name])
            self.grid.show([], self._cells)
            self.grid.cursor = None
            self.draw()
        self.grid.focus()

    def action_turn(self, by: int) -> None:
        self.action_table(TABLES[(TABLES.index(self.table) + by) % len(TABLES)])

    def on_tabs_picked(self, event: Tabs.Picked) -> None:
        event.stop()
        self.action_table(TABLES[event.index])

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()
        self.refresh_bindings()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        self.action_open()

    def _target(self) -> Callable[[], None] | None:
        """The screen that the row under the cursor leads to; None if there is none."""
        key = self.grid.current
        if key is None or self.table == "configs":
            return None
        if self.table == "partitions":
            return self.action_records
        names = [key] if self.table == "connectors" else self._sinks(key)
        if not names:
            return None
        return lambda: self.links.connector(names[0], "offsets" if self.table == "groups" else "")

    def _sinks(self, group: str) -> list[str]:
        details = self.state.details
        groups = details.groups if details is not None else ()
        return [sink for each in groups if each.name == group for sink in each.sinks]

    def action_open(self) -> None:
        if (target := self._target()) is not None:
            target()

    def action_records(self) -> None:
        """The records of the topic; of the partition under the cursor, if partitions are shown."""
        partition = int(self.grid.current) if self.table == "partitions" and self.grid.current else None
        self.links.records(OpenRecords(self.topic, partition=partition))

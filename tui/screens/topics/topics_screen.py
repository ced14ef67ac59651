"""The topics of the cluster: partitions, records, and the connectors that use them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tui.errors import HeadraceError, error_line
from tui.formatting import counted, one_line
from tui.offsets.brokers import Brokers
from tui.screens.base.filtered_page import FilteredPage
from tui.screens.services.cluster_services import ClusterServices
from tui.topics.topic_list import TopicSummary, topics, with_offsets
from tui.topics.usage import TopicUse, uses
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.text import visible

COLUMNS = (
    Column("topic", "TOPIC", 24, grows=True, middle=True),
    Column("partitions", "PARTS", 5, right=True),
    Column("records", "RECORDS", 11, right=True),
    Column("offsets", "OFFSETS", 15, rank=2, right=True, grows=True, floor=100),
    Column("used", "USED BY", 22, rank=1, grows=True),
)
OpenNamed = Callable[[str], None]  # a screen for the topic of this name
OpenBrokers = Callable[[Mapping[str, str]], Brokers]


class TopicsScreen(FilteredPage):
    """Lists topics at once; their offsets are read for the rows on the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v,enter", "open", "records", key_display="v"),
        Binding(
            "d", "details", "details", tooltip="consumer groups, partitions, configurations and growth of the topic"
        ),
        Binding("slash", "filter", "filter", key_display="/"),
        Binding("i", "internal", "internal", tooltip="show or hide topics whose names begin with _"),
        Binding("s", "sort", "sort by size", tooltip="sort by the number of records, or by name"),
        Binding("f5,ctrl+l", "reload", "read again", key_display="F5"),
    ]

    def __init__(
        self, services: ClusterServices, open_records: OpenNamed, open_details: OpenNamed, open_brokers: OpenBrokers
    ) -> None:
        super().__init__(services)
        self._open_records, self._open_details, self._open_brokers = open_records, open_details, open_brokers
        self.topics: dict[str, TopicSummary] = {}
        self.uses: dict[str, list[TopicUse]] = {}
        self.with_internal = False
        self.by_size = False
        self._brokers: Brokers | None = None
        self._asked: set[str] = set()  # topics whose offsets have been requested

    def body(self) -> ComposeResult:
        yield Grid(COLUMNS, id="topics")

    @property
    def grid(self) -> Grid:
        return self.query_one("#topics", Grid)

    def on_mount(self) -> None:
        self.grid.empty = "reading from the brokers…"
        self.grid.focus()
        self.draw()
        self.action_reload()
        self.set_interval(0.3, self._read_offsets)

    # Reading

    def action_reload(self) -> None:
        self.run_worker(self._read(), exclusive=True, group="topics", exit_on_error=False)

    async def _read(self) -> None:
        self.report("reading from the brokers", "busy")
        try:
            brokers = self._brokers = self._open_brokers(await self.services.kafka())
            summaries = await asyncio.to_thread(lambda: topics(brokers, lambda name: True))
        except HeadraceError as error:
            self.grid.empty = one_line(error.message)
            self.report(error_line(error), "bad")
        else:
            known = self.topics
            self.topics = {name: _with_known(topic, known.get(name)) for name, topic in summaries.items()}
            self.uses = uses(self.services.snapshot.connectors.values(), summaries)
            self._asked.clear()
            self.grid.empty = "no topic matches"
            self.report("")
        self.draw()

    def _read_offsets(self) -> None:
        """Reads the offsets of the visible rows, of all rows where the list is sorted by size."""
        wanted = [name for name in (self.keys if self.by_size else self.grid.on_screen) if name not in self._asked]
        if wanted and self._brokers is not None and self.is_current:
            self._asked.update(wanted)
            chosen = [self.topics[name] for name in wanted]
            self.run_worker(self._offsets(self._brokers, chosen), exit_on_error=False)

    async def _offsets(self, brokers: Brokers, chosen: list[TopicSummary]) -> None:
        try:
            topics = await asyncio.to_thread(with_offsets, brokers, chosen)
        except HeadraceError as error:  # F5 tries again
            self.report(error_line(error), "bad")
            return
        self.topics |= {name: topic for name, topic in topics.items() if name in self.topics}
        self.draw()

    # Display

    @property
    def keys(self) -> list[str]:
        text = self.filter_text.lower()

        def is_shown(name: str) -> bool:
            used = " ".join(use.connector for use in self.uses.get(name, ()))
            internal = self.with_internal or not self.topics[name].is_internal or bool(text)
            return internal and (not text or text in name.lower() or text in used.lower())

        names = [name for name in self.topics if is_shown(name)]
        return sorted(names, key=lambda name: (-self.topics[name].records, name)) if self.by_size else names

    def draw(self, follow: bool = False) -> None:
        keys = self.keys
        longest = max((len(self._used(name)) for name in keys), default=0)
        self.grid.sorted_by = ("records", "↓") if self.by_size else ("topic", "↑")
        self.grid.show(
            keys, self._cells, {"topic": max(map(len, keys), default=0), "used": longest, "offsets": 24}, follow=follow
        )
        search = f"  /{visible(self.filter_text)}" if self.filter_text else ""
        self.head(("topics", "bold $accent"), search, end=counted(len(keys), "topic") if self.topics else "")
        self.refresh_bindings()

    def _used(self, name: str) -> str:
        return ", ".join(map(str, self.uses.get(name, ())))

    def _cells(self, name: str) -> Mapping[str, Cell]:
        topic = self.topics[name]
        offsets = ""
        if topic.is_read:
            first, last = sum(topic.earliest.values()), sum(topic.latest.values())
            offsets = f"{first:,} – {last:,}"
        return {
            "topic": Cell(name, "grid--muted" if topic.is_internal else "grid--strong"),
            "partitions": Cell(str(len(topic.partitions))),
            "records": Cell(f"{topic.records:,}" if topic.is_read else "…"),
            "offsets": Cell(offsets, "grid--muted"),
            "used": Cell(self._used(name), "grid--muted"),
        }

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()

    def on_grid_heading_clicked(self, event: Grid.HeadingClicked) -> None:
        event.stop()
        if event.column in ("topic", "records"):
            self.by_size = event.column == "records"
            self.draw()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        self._open_records(event.key)

    def action_open(self) -> None:
        if self.grid.current is not None:
            self._open_records(self.grid.current)

    def action_details(self) -> None:
        if self.grid.current is not None:
            self._open_details(self.grid.current)

    def allows(self, action: str) -> bool:
        return action not in ("open", "details", "sort", "filter", "internal") or bool(self.topics)

    def action_internal(self) -> None:
        self.with_internal = not self.with_internal
        self.draw()

    def action_sort(self) -> None:
        self.by_size = not self.by_size
        self.draw()

    def draw_filtered(self) -> None:
        self.draw(follow=True)


def _with_known(topic: TopicSummary, known: TopicSummary | None) -> TopicSummary:
    """The topic with the offsets that were read before, until they have been read again."""
    return known if known is not None and known.partitions == topic.partitions else topic

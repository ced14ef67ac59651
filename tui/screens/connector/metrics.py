"""The metrics tab: throughput and lag over time, and a table of partitions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from tui.errors import HeadraceError
from tui.formatting import format_duration, one_line
from tui.metrics import offset_rates
from tui.metrics.offset_rates import PartitionSample, SampleHistory
from tui.model import Connector
from tui.offsets import partitions
from tui.offsets.bounds import topic_partition
from tui.screens.base import curves
from tui.screens.base.pane import Note, Pane
from tui.screens.services.cluster_services import ClusterServices
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.plot import short

if TYPE_CHECKING:
    from tui.client.responses import OffsetsResponse
    from tui.offsets.brokers import Brokers


class Sampler:
    """Keeps the samples of each connector while the console is open."""

    def __init__(self, services: ClusterServices) -> None:
        self.services = services
        self._histories: dict[str, SampleHistory] = {}
        self._brokers: Brokers | None = None

    def of(self, name: str) -> SampleHistory:
        return self._histories.setdefault(name, SampleHistory())

    async def sample(self, connector: Connector) -> str:
        """Adds a sample and returns the unit of its positions. Raises HeadraceError."""
        response = await self.services.connect.offsets_in_detail(connector.name)
        if connector.type == "sink" and self.services.profile.bootstrap:
            await asyncio.to_thread(self._ends, response)
        entries = response.get("offsets") or ()
        shown = {place: partitions.shown(entry.get("partition")) for place, entry in enumerate(entries)}
        self.of(connector.name).add(offset_rates.sample(time.time(), response, shown))
        return offset_rates.unit(response)

    def _ends(self, response: OffsetsResponse) -> None:
        """Adds end offsets and lag from the brokers to entries for which the worker reports no lag."""
        entries = [entry for entry in response.get("offsets") or () if entry.get("lag") is None]
        at = {number: topic_partition(entry.get("partition")) for number, entry in enumerate(entries)}
        if not any(at.values()):
            return
        if self._brokers is None:
            self._brokers = self.services.context().cluster.brokers()
        ends = self._brokers.ends([place for place in at.values() if place])
        for number, entry in enumerate(entries):
            end, position = ends.get(at[number] or ("", -1)), offset_rates.position(entry.get("offset"))
            if end is not None and position is not None:
                entry |= {"end": end, "lag": {"records": max(0, end - int(position))}}


NO_LAG = "no lag: the worker reports none, and the context names no brokers"
NO_OFFSETS = "no lag: no offsets committed yet"
SPANS = {"minutes": 0.0, "hour": 3600.0, "six hours": 6 * 3600.0}  # seconds; 0: a cell for each report
COLUMNS = (
    Column("partition", "PARTITION", 20, grows=True),
    Column("position", "POSITION", 12, right=True),
    Column("rate", "RATE/S", 9, right=True),
    Column("end", "END", 12, rank=2, right=True),
    Column("lag", "LAG", 9, right=True),
    Column("behind", "BEHIND", 8, rank=1, right=True),
)


class MetricsPane(Pane):
    """Rates come from Headrace's worker; with other workers, offsets are sampled while the tab is open."""

    FOCUS = "#rates"
    interval = 2.0
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("z", "zoom", "zoom", id="zoom", tooltip="plots of the last minutes, the last hour, the last six hours")
    ]
    DEFAULT_CSS = """
    MetricsPane #curves { height: auto; padding: 0 1; }
    MetricsPane #rates { height: 1fr; min-height: 3; margin: 1 0 0 0; }
    """

    def __init__(self, services: ClusterServices, id: str = "metrics") -> None:
        super().__init__(services, id)
        self.sampler = Sampler(services)
        self.unit = "positions"
        self.window = next(iter(SPANS))
        self.trouble = ""
        self._asking = False

    def compose(self) -> ComposeResult:
        yield Static(id="curves", markup=False)
        yield Grid(COLUMNS, id="rates", sortable=True)
        yield Note("metrics-note")

    @property
    def history(self) -> SampleHistory:
        return self.sampler.of(self.name_shown)

    def reset(self) -> None:
        self.trouble = ""

    def on_resize(self) -> None:
        self.draw()

    def fetch(self) -> None:
        if self.connector is not None and not self._asking:
            self._asking = True
            self.services.do(self._read(self.connector))

    async def _read(self, connector: Connector) -> None:
        unit, trouble = self.unit, ""
        try:
            await self.services.read_course(connector.name)
            unit = await self.sampler.sample(connector)
        except HeadraceError as error:
            trouble = one_line(error.message)
        finally:
            self._asking = False
        if connector.name == self.name_shown:
            self.unit, self.trouble = unit, trouble
            self.draw()

    def draw(self) -> None:
        if self.connector is None or not self.size.width:
            return
        self.query_one("#curves", Static).update(self._curves())
        self._partitions()
        last = self.history.last
        is_unknown = last is not None and last.lag is None and self.connector.type == "sink"
        no_lag = NO_LAG if last is not None and last.places else NO_OFFSETS
        self.query_one(Note).report(self.trouble or (no_lag if is_unknown else ""))

    def _curves(self) -> Content:
        height = max(1, min(10, (self.size.height - 9 - min(6, len(self._places))) // 2))
        plots = curves.Plots(self.size.width - 4, height, SPANS[self.window])
        course = self.services.course(self.name_shown)
        if course is not None:
            return curves.of_course(course, plots, time.time(), self.services.limit(self.name_shown))
        return curves.of_history(self.history, self.unit, plots)

    @property
    def _places(self) -> Mapping[str, PartitionSample]:
        last = self.history.last
        return last.places if last else {}

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "zoom" or self.services.course(self.name_shown) is not None

    def action_zoom(self) -> None:
        """Shows the next longer time, or the shortest one after the longest."""
        names = list(SPANS)
        self.window = names[(names.index(self.window) + 1) % len(names)]
        self.draw()

    def _partitions(self) -> None:
        last, places = self.history.last, self._places

        def cells(key: str) -> Mapping[str, Cell]:
            place = places.get(key)
            return _cells(key, place, self.history.rate_of(key)) if place else {}

        grid = self.query_one(Grid)
        grid.empty = "no offsets committed yet" if last else "" if self.trouble else "reading…"
        grid.show(sorted(places), cells, {"partition": max(map(len, places), default=0)})

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()


def _cells(key: str, place: PartitionSample, rate: float | None) -> Mapping[str, Cell]:
    behind = place.behind_ms if place.behind_ms is not None else place.age_ms
    lagging = bool(place.lag)
    return {
        "partition": Cell(key),
        "position": Cell("" if place.position is None else f"{place.position:,.0f}", "grid--strong"),
        "rate": Cell(short(rate) if rate is not None else "", "grid--success" if rate else "grid--muted"),
        "end": Cell("" if place.end is None else f"{place.end:,}", "grid--muted"),
        "lag": Cell("" if place.lag is None else f"{place.lag:,}", "grid--warning" if lagging else "grid--muted"),
        "behind": Cell("" if behind is None else format_duration(behind / 1000), "grid--muted"),
    }

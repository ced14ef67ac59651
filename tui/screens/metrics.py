"""The metrics page: throughput and lag over time, from looks at the offsets; partitions below."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from tui import gauges
from tui.errors import HeadraceError
from tui.gauges import History, Place
from tui.model import Connector
from tui.offsets import partitions
from tui.screens.desk import Desk
from tui.screens.pane import Note, Pane
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.plot import peak, plot, short, spark
from tui.widgets.text import span

if TYPE_CHECKING:
    from tui.offsets.brokers import Brokers

Part = str | Content | tuple[str, str]
NO_LAG = "lag: this worker tells none, and the context names no brokers that could be asked"
COLUMNS = (
    Column("partition", "PARTITION", 20, grows=True),
    Column("position", "POSITION", 12, right=True),
    Column("rate", "RATE/S", 9, right=True),
    Column("end", "END", 12, rank=2, right=True),
    Column("lag", "LAG", 9, right=True),
    Column("behind", "BEHIND", 8, rank=1, right=True),
)


class MetricsPane(Pane):
    """Samples are taken while it is looked at, and kept for when it is looked at again."""

    HOME = "#rates"
    every = 2.0
    DEFAULT_CSS = """
    MetricsPane #curves { height: auto; padding: 0 1; }
    MetricsPane #rates { height: 1fr; min-height: 3; margin: 1 0 0 0; }
    """

    def __init__(self, desk: Desk, id: str = "metrics") -> None:
        super().__init__(desk, id)
        self.histories: dict[str, History] = {}
        self.unit = "positions"
        self.trouble = ""
        self._asking = False
        self._brokers: Brokers | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="curves", markup=False)
        yield Grid(COLUMNS, id="rates")
        yield Note("metrics-note")

    @property
    def history(self) -> History:
        return self.histories.setdefault(self.name_shown, History())

    def begin(self) -> None:
        self.trouble = ""

    def on_resize(self) -> None:
        self.draw()

    def look(self) -> None:
        if self.connector is not None and not self._asking:
            self._asking = True
            self.desk.do(self._read(self.connector))

    async def _read(self, one: Connector) -> None:
        try:
            answer = await self.desk.connect.offsets_in_detail(one.name)
            if one.type == "sink" and self.desk.profile.bootstrap:
                await asyncio.to_thread(self._ends, answer)
        except HeadraceError as error:
            trouble = " ".join(error.message.split())
        else:
            trouble = ""
            entries = (answer or {}).get("offsets") or ()
            shown = {place: partitions.shown(entry.get("partition")) for place, entry in enumerate(entries)}
            history = self.histories.setdefault(one.name, History())
            history.add(gauges.sample(time.time(), answer, shown))
        finally:
            self._asking = False
        if one.name == self.name_shown:
            self.trouble = trouble
            self.unit = self.unit if trouble else gauges.unit(answer)
            self.draw()

    def _ends(self, answer: Any) -> None:
        """Where the worker tells no lag, the brokers of the context know how far each topic goes."""
        entries = [entry for entry in (answer or {}).get("offsets") or () if entry.get("lag") is None]
        at = {number: _topic_partition(entry["partition"]) for number, entry in enumerate(entries)}
        if not any(at.values()):
            return
        if self._brokers is None:
            from tui.offsets.brokers import brokers

            self._brokers = brokers(self.desk.profile.bootstrap, self.desk.profile.client)
        ends = self._brokers.ends([place for place in at.values() if place])
        for number, entry in enumerate(entries):
            end, position = ends.get(at[number] or ("", -1)), gauges.position(entry.get("offset"))
            if end is not None and position is not None:
                entry |= {"end": end, "lag": {"records": max(0, end - int(position))}}

    def draw(self) -> None:
        if self.connector is None or not self.size.width:
            return
        self.query_one("#curves", Static).update(self._curves())
        self._partitions()
        last = self.history.last
        known = last is not None and last.lag is not None
        is_sink = self.connector.type == "sink"
        self.query_one(Note).say(self.trouble or ("" if known or not is_sink or last is None else NO_LAG))

    def _curves(self) -> Content:
        width, height = self.size.width - 4, max(1, min(10, (self.size.height - 10) // 2))
        history = self.history
        parts: list[Part] = [
            ("throughput ", "bold $accent"),
            (f"{short(history.rate, self.unit)}/s", "bold"),
            (f"  mean {short(history.mean)}  peak {short(peak(history.rates()))}", "$text-muted"),
            (f"  {self._window()}\n", "$text-muted"),
        ]
        parts += [(f"{line}\n", "$success") for line in plot(history.rates(), width, height)]
        lags = history.lags()
        if any(lag is not None for lag in lags):
            last = history.last
            behind = last.behind_ms if last else None
            parts += [("lag ", "bold $accent"), (short(lags[-1], "records"), "bold")]
            parts.append(
                (f"  peak {short(peak(lags))}" + (f"  {span(behind / 1000)} behind" if behind else ""), "$text-muted")
            )
            parts += [(f"\n{line}", "$warning") for line in plot(lags, width, height)]
        return Content.assemble(*parts)

    def _window(self) -> str:
        samples = self.history.samples
        return f"over {span(samples[-1].at - samples[0].at)}" if len(samples) > 1 else "looking…"

    def _partitions(self) -> None:
        last = self.history.last
        places: Mapping[str, Place] = last.places if last else {}

        def cells(key: str) -> Mapping[str, Cell]:
            place = places.get(key)
            return _cells(key, place, self.history.rate_of(key)) if place else {}

        grid = self.query_one(Grid)
        grid.empty = "no offsets committed yet" if last else "reading…"
        grid.show(sorted(places), cells, {"partition": max(map(len, places), default=0)})

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()


def _topic_partition(partition: Any) -> tuple[str, int] | None:
    try:
        return str(partition["kafka_topic"]), int(partition["kafka_partition"])
    except (TypeError, KeyError, ValueError):
        return None


def _cells(key: str, place: Place, rate: float | None) -> Mapping[str, Cell]:
    behind = place.behind_ms if place.behind_ms is not None else place.age_ms
    lagging = bool(place.lag)
    return {
        "partition": Cell(key),
        "position": Cell("" if place.position is None else f"{place.position:,.0f}", "grid--strong"),
        "rate": Cell(short(rate) if rate is not None else "", "grid--success" if rate else "grid--muted"),
        "end": Cell("" if place.end is None else f"{place.end:,}", "grid--muted"),
        "lag": Cell("" if place.lag is None else f"{place.lag:,}", "grid--warning" if lagging else "grid--muted"),
        "behind": Cell("" if behind is None else span(behind / 1000), "grid--muted"),
    }


def sparkline(history: History, width: int) -> Content:
    """For the overview: one line."""
    if len(history.samples) < 2:
        return Content("")
    return Content.assemble((spark(history.rates(), width), "$success"), f" {short(history.rate)}/s")

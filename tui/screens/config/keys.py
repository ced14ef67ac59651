"""The keys and values of a config, and the documentation of the key under the cursor."""

from __future__ import annotations

from collections.abc import Mapping

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content

from tui.config.definitions import KeyDefinition, unknown
from tui.config.secrets import shown
from tui.screens.config import wording as words
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.pager import Pager
from tui.widgets.text import visible

COLUMNS = (Column("key", "KEY", 26, grows=True, middle=True, shrinks=True), Column("value", "VALUE", 24, grows=True))
UNREAD = "(hidden until the definitions of the plugin are read)"
CUT_WIDTH = 24  # characters; the table may cut longer values


class ConfigKeys(Container):
    """Secrets are masked. `keys` are the plugin's definitions; `shows_all` lists keys that are not set too."""

    DEFAULT_CSS = """
    ConfigKeys { height: 1fr; layout: vertical; }
    ConfigKeys #keys { height: 1fr; }
    ConfigKeys #explanation { height: auto; max-height: 7; min-height: 3; border-top: solid $border; }
    """

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self.config: Mapping[str, str] = {}
        self.keys: Mapping[str, KeyDefinition] = {}
        self.hidden: frozenset[str] = frozenset()
        self.shows_all = False

    def compose(self) -> ComposeResult:
        yield Grid(COLUMNS, id="keys", sortable=True)
        yield Pager(id="explanation")

    @property
    def grid(self) -> Grid:
        return self.query_one("#keys", Grid)

    def put(self, config: Mapping[str, str], hidden: frozenset[str], is_known: bool) -> None:
        """`hidden` are the keys whose values are not shown; unless `is_known`, some because their definitions have not
        been read."""
        self.config, self.hidden = config, hidden
        values, stray = shown(config, self.hidden), unknown(config, self.keys)
        if not is_known:
            values = {key: UNREAD if value != shown(config)[key] else value for key, value in values.items()}
        names = sorted(values.keys() | (self.keys.keys() if self.shows_all else set()))

        def cells(name: str) -> Mapping[str, Cell]:
            if name in values:
                mark, style = (" !", "grid--warning") if name in stray else ("", "")
                return {"key": Cell(name + mark, style), "value": Cell(values[name], "grid--strong")}
            default = self.keys[name].default if name in self.keys else None
            return {"key": Cell(name, "grid--muted"), "value": Cell(default or "", "grid--muted")}

        room = max(26, self.grid.size.width // 2)
        widest = max(map(len, names), default=0) + 2
        self.grid.show(names, cells, {"key": min(room, widest), "value": max(map(len, values.values()), default=0)})
        self.explain()

    def explain(self) -> None:
        """Shows the documentation of the key, and its value if the table may have cut it."""
        name = self.grid.current
        if name is None:
            return
        text = words.documentation(name, self.keys.get(name)) if self.keys else words.nothing()
        value = shown(self.config, self.hidden).get(name, "")
        if len(value) > CUT_WIDTH:
            text = Content.assemble((f"{visible(value)}\n", "bold"), text)
        if name in unknown({name: "", **self.config}, self.keys):
            text = Content.assemble(text, ("\n! this plugin does not define the key", "$warning"))
        self.query_one("#explanation", Pager).put(text, top=True)

    def on_grid_moved(self, event: Grid.Moved) -> None:
        event.stop()
        self.explain()

"""The plugins installed on the worker, with their config keys and documentation."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content

from tui.client.responses import PluginDetailsResponse
from tui.config.definitions import KeyDefinition
from tui.errors import HeadraceError, error_line
from tui.formatting import counted
from tui.screens.base.filtered_page import FilteredPage
from tui.screens.base.split_page import SplitPage
from tui.screens.config import wording as words
from tui.screens.services.cluster_services import ClusterServices
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.pager import Pager
from tui.widgets.text import visible

PLUGINS = (
    Column("class", "PLUGIN", 28, grows=True),
    Column("type", "TYPE", 16),
    Column("version", "VERSION", 8, rank=1, grows=True),
    Column("language", "LANGUAGE", 8, rank=2),
    Column("package", "PACKAGE", 20, rank=3, grows=True),
    Column("from", "FROM", 20, rank=4, grows=True),
)
WITHOUT_DETAILS = tuple(column for column in PLUGINS if column.key not in ("language", "from"))
"""The columns for Apache's workers."""
KEYS = (
    Column("key", "KEY", 26, grows=True),
    Column("type", "TYPE", 8),
    Column("default", "DEFAULT", 12, rank=1, grows=True),
)


class InstalledPlugin(NamedTuple):
    """A plugin; `id` distinguishes versions and types of the same class."""

    cls: str
    type: str
    version: str
    language: str = ""
    origin: str = ""
    worker_classes: tuple[tuple[str, str], ...] = ()
    """Classes of Apache's worker that the plugin uses, with what it gets for them."""

    @property
    def id(self) -> str:
        return f"{self.type} {self.cls}@{self.version}"

    @property
    def name(self) -> str:
        return self.cls.rpartition(".")[2]

    @property
    def description(self) -> Content:
        """A line each for the class, for type, version and language, for the jar or folder, and for each class of
        Apache's worker that the plugin uses."""
        facts = [self.type, *([f"version {self.version}"] if self.version else []), *filter(None, [self.language])]
        uses = [f"uses {name}: {support}" for name, support in self.worker_classes]
        return Content("\n").join([
            Content.styled(visible(self.cls), "bold $accent"),
            Content.styled(visible(", ".join(facts)), "$text-muted"),
            *(Content(visible(text)) for text in (self.origin, *uses) if text),
        ])  # fmt: skip

    @property
    def _searched(self) -> str:
        return f"{self.cls} {self.type} {self.language}".lower()

    def matches(self, text: str, kind: str) -> bool:
        wanted = text.lower().split()
        return (not kind or self.type == kind) and all(word in self._searched for word in wanted)


def plugins(response: Any, details: Sequence[PluginDetailsResponse] = ()) -> list[InstalledPlugin]:
    """The plugins of GET /connector-plugins, with what a Headrace worker knows beyond that."""
    known = {(plugin["class"], plugin["type"], plugin["version"]): plugin for plugin in reversed(details)}
    plugins = []
    for entry in response or ():
        cls, kind, version = str(entry.get("class")), str(entry.get("type")), str(entry.get("version") or "")
        more = known.get((cls, kind, version or "undefined"))
        plugins.append(
            InstalledPlugin(cls, kind, version, more["language"], more["from"], _worker_classes(more))
            if more
            else InstalledPlugin(cls, kind, version)
        )
    rank = {"source": 0, "sink": 1}
    return sorted(plugins, key=lambda plugin: (rank.get(plugin.type, 2), plugin.type, plugin.name, plugin.version))


class PluginsScreen(SplitPage, FilteredPage):
    """Plugins above or to the left; beside them the keys of the plugin under the cursor, and below these the plugin, or
    the documentation of a key."""

    DEFAULT_CSS = """
    PluginsScreen #plugin-keys { height: 1fr; }
    PluginsScreen #explanation { height: auto; max-height: 6; min-height: 4; border-top: solid $border; }
    PluginsScreen.-broad #list { width: 2fr; height: 1fr; }
    PluginsScreen.-broad #text { width: 3fr; height: 1fr; }
    PluginsScreen.-broad #explanation { max-height: 12; }
    """
    BROAD = 120
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "search", key_display="/"),
        Binding("t", "type", "type", tooltip="cycle through the types of plugins"),
        Binding("c", "create", "create a connector"),
        Binding("tab,shift+tab", "switch", "plugins or keys", key_display="tab"),
    ]

    CHANGES: ClassVar[tuple[str, ...]] = ("create",)

    def __init__(self, services: ClusterServices, choosing: bool = False) -> None:
        super().__init__(services)
        self.choosing = choosing  # Enter creates a connector, and only connectors are listed
        self.plugins: dict[str, InstalledPlugin] = {}
        self.keys: Mapping[str, KeyDefinition] = {}
        self.kind = ""
        self._keys_of = ""

    def body(self) -> ComposeResult:
        with Container(id="both"):
            yield Grid(WITHOUT_DETAILS, id="list", sortable=True)
            with Vertical(id="text"):
                yield Grid(KEYS, id="plugin-keys", sortable=True)
                yield Pager(id="explanation")

    def on_mount(self) -> None:
        self.grid.empty = "reading…"
        self.grid.focus()
        self.draw()
        self.run_worker(self._read(), exit_on_error=False)

    async def _read(self) -> None:
        try:
            response = await self.services.connect.plugins(connectors_only=self.choosing)
        except HeadraceError as error:
            self.report(error_line(error), "bad")
            return
        self.plugins = {plugin.id: plugin for plugin in plugins(response)}
        self.grid.empty = "nothing matches"
        self.draw()
        with contextlib.suppress(HeadraceError):  # Apache's workers have no details
            details = await self.services.connect.plugin_details()
            self.plugins = {plugin.id: plugin for plugin in plugins(response, details)}
            self.grid.set_columns(PLUGINS)
            self.draw()

    # Display

    @property
    def current(self) -> InstalledPlugin | None:
        return self.plugins.get(self.grid.current or "")

    def draw(self) -> None:
        shown = [key for key, plugin in self.plugins.items() if plugin.matches(self.filter_text, self.kind)]
        names = [self.plugins[key] for key in shown]
        widths = {"package": 60, "from": 60}
        widths["class"] = max((len(plugin.name) for plugin in names), default=0)
        widths["version"] = max((len(plugin.version) for plugin in names), default=0)
        self.grid.show(shown, lambda key: _cells(self.plugins[key]) if key in self.plugins else {}, widths, follow=True)
        by = f" by /{self.filter_text}" if self.filter_text else ""
        kind = f" of type {self.kind}" if self.kind else ""
        title = "create: choose its plugin, then Enter" if self.choosing else "plugins"
        self.head((title, "bold $accent"), end=f"{counted(len(shown), 'plugin')}{kind}{by}")
        self.show_current()

    def draw_filtered(self) -> None:
        self.draw()

    def show_current(self) -> None:
        """Reads the keys of the plugin under the cursor."""
        plugin = self.current
        if (plugin.cls if plugin else "") != self._keys_of:
            self._keys_of, self.keys = plugin.cls if plugin else "", {}
            self._draw_keys("reading…" if plugin else "")
            if plugin is not None:
                self.run_worker(self._read_keys(plugin), exit_on_error=False, exclusive=True, group="keys")

    async def _read_keys(self, plugin: InstalledPlugin) -> None:
        keys = await self.services.keys_of(plugin.cls)
        if plugin.cls == self._keys_of:
            self.keys = keys
            self._draw_keys("the plugin defines no keys, or the worker does not list them")

    def _draw_keys(self, empty: str) -> None:
        grid = self.query_one("#plugin-keys", Grid)
        grid.empty = empty
        ranked = sorted(self.keys.values(), key=lambda key: key.rank)
        cells = {key.name: _key_cells(key) for key in ranked}
        widths = {"key": max(map(len, cells), default=0), "default": 30}
        grid.show(list(cells), lambda key: cells.get(key, {}), widths, follow=True)
        self._about()

    def _about(self) -> None:
        """The documentation of the key under the cursor while the keys have the focus; otherwise the plugin."""
        keys, plugin = self.query_one("#plugin-keys", Grid), self.current
        name = keys.current or ""
        text = plugin.description if plugin is not None else words.nothing()
        if keys.has_focus and name in self.keys:
            text = words.documentation(name, self.keys[name])
        self.query_one("#explanation", Pager).put(text, top=True)
        # Textual loses the new height if the columns of the grid change in the same pass.
        self.call_after_refresh(self.query_one("#explanation > Static").refresh, layout=True)

    def on_descendant_focus(self) -> None:
        self._about()

    # Keys

    def on_grid_moved(self, event: Grid.Moved) -> None:
        if event.grid is not self.grid:
            self._about()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        if self.choosing and event.grid is self.grid:
            event.stop()
            event.prevent_default()  # the list keeps the focus
            self.action_create()

    def allows(self, action: str) -> bool:
        return action != "create" or ((plugin := self.current) is not None and plugin.type in ("source", "sink"))

    def action_switch(self) -> None:
        (self.query_one("#plugin-keys") if self.grid.has_focus else self.grid).focus()

    def action_type(self) -> None:
        kinds = ["", *dict.fromkeys(plugin.type for plugin in self.plugins.values())]
        self.kind = kinds[(kinds.index(self.kind) + 1) % len(kinds)] if self.kind in kinds else ""
        self.draw()

    def action_create(self) -> None:
        from tui.screens.create.wizard import CreateScreen

        if plugin := self.current:
            screen = CreateScreen(self.services, plugin.cls)
            self.app.push_screen(screen, lambda _: self._back_from(screen.created))

    def _back_from(self, created: bool) -> None:
        if created:
            self.dismiss(None)


def _cells(plugin: InstalledPlugin) -> Mapping[str, Cell]:
    return {
        "class": Cell(plugin.name, "grid--strong"),
        "type": Cell(plugin.type, "grid--muted"),
        "version": Cell(plugin.version, "grid--muted"),
        "language": Cell(plugin.language, "grid--muted"),
        "package": Cell(plugin.cls.rpartition(".")[0], "grid--muted"),
        "from": Cell(plugin.origin, "grid--muted"),
    }


def _worker_classes(details: PluginDetailsResponse) -> tuple[tuple[str, str], ...]:
    return tuple(details.get("worker_classes", {}).items())


def _key_cells(key: KeyDefinition) -> Mapping[str, Cell]:
    return {
        "key": Cell(key.name, "grid--strong" if key.required else ""),
        "type": Cell(key.type.lower(), "grid--muted"),
        "default": Cell(
            "required" if key.required else key.default or "", "grid--warning" if key.required else "grid--muted"
        ),
    }

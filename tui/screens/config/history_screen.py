"""The history of a connector's config: user, time and diff of each change; undo and rollback."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from tui.config import history
from tui.config.changes import diff_lines
from tui.config.history import ConfigEntry, ConfigHistory
from tui.errors import HeadraceError, error_line
from tui.formatting import day_time, one_line
from tui.screens.base.split_page import SplitPage
from tui.screens.services.cluster_services import ClusterServices
from tui.widgets.columns import Column
from tui.widgets.grid import Cell
from tui.widgets.text import visible


class ConfigHistoryScreen(SplitPage):
    """Returns by `line` the command to run, empty for none."""

    DEFAULT_CSS = """
    ConfigHistoryScreen #list, ConfigHistoryScreen #text { height: 1fr; }
    """
    COLUMNS = (
        Column("number", "NO", 4, right=True),
        Column("time", "TIME", 20),
        Column("action", "ACTION", 7),
        Column("who", "USER", 14, rank=1, grows=True),
        Column("changes", "CHANGES", 20, grows=True),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("u", "undo", "undo last", tooltip="undo the last change; shows the difference and asks first"),
        Binding("R", "rollback", "roll back", tooltip="restore the whole config as before this change"),
        Binding("tab,shift+tab", "switch", "list or difference", show=False),
        Binding("f5,ctrl+l", "reload", "read again", key_display="F5"),
    ]
    CHANGES: ClassVar[tuple[str, ...]] = ("undo", "rollback")

    def __init__(self, services: ClusterServices, name: str) -> None:
        super().__init__(services)
        self.connector, self.line = name, ""
        self.config_history: ConfigHistory | None = None
        self.entries: dict[str, ConfigEntry] = {}
        self.passwords: frozenset[str] = frozenset()  # keys of type PASSWORD

    def on_mount(self) -> None:
        self.grid.empty = "reading the history…"
        self.grid.focus()
        self.draw()
        self.action_reload()

    def action_reload(self) -> None:
        self.run_worker(self._read(), exclusive=True, exit_on_error=False)

    async def _read(self) -> None:
        try:
            kept = self.services.context().cluster.config_history
            config_history = await history.history(self.services.connect, kept, self.connector)
            self.passwords = await self.services.password_keys.of(*config_history.configs)
            self.config_history = config_history
        except HeadraceError as error:
            self.grid.empty = one_line(error.message)
            self.report(error_line(error), "bad")
        else:
            self.entries = {str(entry.number): entry for entry in config_history.entries}
            self.grid.empty = "no change yet"
            self.report(config_history.advice)
        self.draw()

    def draw(self) -> None:
        rows = list(self.entries.values())
        widths = {
            "who": max((len(entry.who) for entry in rows), default=0),
            "changes": max((len(history.summary(entry.changes)) for entry in rows), default=0),
        }
        self.grid.show(list(self.entries), self._cells, widths)
        kept = (
            ""
            if self.config_history is None
            else "kept by the worker"
            if self.config_history.by_worker
            else "kept on this machine"
        )
        self.head(("config history", "bold $accent"), f"  {visible(self.connector)}", end=kept)
        self.show_current()
        self.refresh_bindings()

    def _cells(self, key: str) -> Mapping[str, Cell]:
        entry = self.entries[key]
        return {
            "number": Cell(key),
            "time": Cell(day_time(entry.time), "grid--muted"),
            "action": Cell(entry.action, "grid--strong" if entry.action == "update" else "grid--accent"),
            "who": Cell(entry.who, "grid--muted"),
            "changes": Cell(history.summary(entry.changes)),
        }

    def show_current(self) -> None:
        entry = self.entries.get(self.grid.current or "")
        parts: list[str | tuple[str, str]] = []
        if entry is not None:
            parts = [
                (f"{visible(entry.named(day_time(entry.time)))}\n", "bold $accent"),
                *([visible(entry.why), "\n"] if entry.why else []),
                "\n",
            ]
            for line in diff_lines(entry.changes, self.passwords):
                parts.append((f"{visible(line)}\n", "$error" if line.startswith("-") else "$success"))
        self.pager.put(Content.assemble(*parts), top=True)

    def allows(self, action: str) -> bool:
        entry = self.entries.get(self.grid.current or "")
        if action == "rollback":
            return entry is not None and entry.before is not None
        return action != "undo" or any(entry.action == "update" for entry in self.entries.values())

    def action_undo(self) -> None:
        self._leave(f"undo config {quote(self.connector)}")

    def action_rollback(self) -> None:
        self._leave(f"rollback config {quote(self.connector)} --to {self.grid.current}")

    def _leave(self, line: str) -> None:
        if self.services.may_change("changing the config", self.report):
            self.line = line
            self.dismiss(None)

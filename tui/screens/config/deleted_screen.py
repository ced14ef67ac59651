"""Deleted connectors: when and by whom each was deleted, what can be restored, and restoring it."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from shlex import quote
from typing import Any, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content

from tui.commands.connectors.deleted_connectors import STATES, UndoDelete, deleted_offsets, initial_state
from tui.config import history
from tui.config.changes import changes
from tui.config.history import ConfigEntry
from tui.config.secrets import MASK, hides, shown
from tui.errors import HeadraceError, error_line
from tui.formatting import counted, day_time, one_line
from tui.model import Offset
from tui.offsets import partitions
from tui.screens.base import reading
from tui.screens.base.dialog import Dialog
from tui.screens.base.navigation import ConnectorCreated
from tui.screens.base.split_page import SplitPage
from tui.screens.config.values_editor import ValuesEditor
from tui.screens.operations.operation_runner import OperationRunner
from tui.screens.services.cluster_services import ClusterServices
from tui.scrubbing import scrubbed_line
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.jsontext import coloured
from tui.widgets.text import visible

REST = 0.2  # seconds between a move of the cursor and the requests for the connector
Json = Any


class Deletion(NamedTuple):
    """What can be restored of a deleted connector. `missing` are keys whose value the history hides, `passwords` those
    of type PASSWORD."""

    entry: ConfigEntry
    config: Mapping[str, str]
    missing: tuple[str, ...]
    offsets: tuple[Offset, ...]
    by_worker: bool
    passwords: frozenset[str]


class DeletedScreen(SplitPage):
    """Reads the history of a connector when the cursor rests on it; edits and choices are kept for each. A restore
    that was started continues if the page is left."""

    COLUMNS = (
        Column("name", "CONNECTOR", 24, grows=True, middle=True),
        Column("time", "DELETED", 20),
        Column("who", "USER", 14, rank=1, grows=True),
        Column("why", "REASON", 14, rank=2, grows=True),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("R", "restore", "restore", tooltip="create the connector again; shows what is restored and asks first"),
        Binding("s", "state", "state", tooltip="the state of the restored connector"),
        Binding("o", "offsets", "offsets", tooltip="restore the offsets that were deleted with it, or not"),
        Binding("e", "edit", "edit values", tooltip="edit the config to restore; give secrets that the history hides"),
        Binding("tab,shift+tab", "switch", "list or preview", show=False),
        Binding("f5,ctrl+l", "reload", "read again", key_display="F5"),
    ]
    CHANGES: ClassVar[tuple[str, ...]] = ("restore", "edit", "state", "offsets")

    def __init__(self, services: ClusterServices) -> None:
        super().__init__(services)
        self.rows: dict[str, Json] = {}
        self.deletions: dict[str, Deletion | str] = {}  # by name; a text is the error
        self.edits: dict[str, dict[str, str | None]] = {}
        self.states: dict[str, str] = {}
        self.without_offsets: set[str] = set()
        self._busy = False
        self.runner = OperationRunner(services.connection, services.operations, self.report)

    @property
    def current(self) -> Deletion | None:
        """The deletion under the cursor, once it has been read."""
        deletion = self.deletions.get(self.grid.current or "")
        return deletion if isinstance(deletion, Deletion) else None

    def on_mount(self) -> None:
        self.grid.empty = "reading the deleted connectors…"
        self.grid.focus()
        self.draw()
        self.action_reload()

    # Reading

    def action_reload(self) -> None:
        self.deletions.clear()
        self.run_worker(self._read(), group="list", exclusive=True, exit_on_error=False)

    async def _read(self) -> None:
        try:
            kept = self.services.context().cluster.config_history
            entries = await history.deleted(self.services.connect, kept)
        except HeadraceError as error:
            self.grid.empty = one_line(error.message)
            self.report(error_line(error), "bad")
        else:
            self.rows = {entry["name"]: entry for entry in entries}
            self.grid.empty = "no deleted connector in the history"
            if not self.services.is_ours:
                self.report(history.ADVICE)
        self.draw()
        self._read_current()

    def _read_current(self) -> None:
        name = self.grid.current
        if name is not None and name not in self.deletions:
            self.run_worker(self._read_one(name), group="one", exclusive=True, exit_on_error=False)

    async def _read_one(self, name: str) -> None:
        context = self.services.context()
        try:
            config_history = await history.history(context.cluster.connect, context.cluster.config_history, name)
            entry = history.deletion(config_history, name)
            back = history.as_before(entry, {})
            offsets = await deleted_offsets(context.cluster, name, config_history.entries)
            secret = await self.services.password_keys.of(back.config)
        except HeadraceError as error:
            self.deletions[name] = error_line(error)
        else:
            deletion = Deletion(entry, back.config, back.missing, offsets, config_history.by_worker, secret)
            self.deletions[name] = deletion
        self.show_current()
        self.refresh_bindings()

    # Display

    def draw(self) -> None:
        rows = list(self.rows.values())
        widths = {key: max((len(row[key] or "") for row in rows), default=0) for key in ("name", "who", "why")}
        self.grid.show(list(self.rows), self._cells, widths, follow=True)
        count = counted(len(rows), "connector") if rows else ""
        self.head(("deleted connectors", "bold $accent"), end=count)
        self.show_current()
        self.refresh_bindings()

    def _cells(self, key: str) -> Mapping[str, Cell]:
        entry = self.rows[key]
        return {
            "name": Cell(key, "grid--strong"),
            "time": Cell(day_time(entry["time"]), "grid--muted"),
            "who": Cell(entry["who"] or "", "grid--muted"),
            "why": Cell(entry["why"] or ""),
        }

    def show_current(self) -> None:
        name = self.grid.current or ""
        deletion = self.deletions.get(name)
        if isinstance(deletion, Deletion):
            content = self._explained(name, deletion)
        else:
            content = Content.assemble((visible(deletion or ("reading its history…" if name else "")), "$text-muted"))
        self.pager.put(content, top=True)

    def _explained(self, name: str, deletion: Deletion) -> Content:
        kept = "by the worker" if deletion.by_worker else "on this machine, without secrets"
        before = initial_state(deletion.entry.state) if deletion.entry.state else "unknown"
        parts: list[str | Content | tuple[str, str]] = [
            (f"{visible(name)}\n", "bold $accent"),
            (f"history kept {kept}\n\n", "$text-muted"),
            "state    ",
            (self._state(name), "bold"),
            (f"  (s changes it; before the deletion {before})\n", "$text-muted"),
            "offsets  ",
        ]
        if not deletion.offsets:
            parts.append(("kept: they were not deleted with it\n", "$text-muted"))
        elif name in self.without_offsets:
            parts.append((f"{counted(len(deletion.offsets), 'offset')} not restored (o restores them)\n", "$warning"))
        else:
            parts.append((f"{counted(len(deletion.offsets), 'offset')} restored (o leaves them out)\n", "bold"))
            for entry in deletion.offsets:
                text = f"{partitions.shown(entry.partition)}: {partitions.shown_offset(entry.offset)}"
                parts.append((f"         {visible(text)}\n", "$text-muted"))
        if missing := self._missing(name):
            parts.append((f"\nthe history hides {visible(', '.join(missing))}: e enters the value\n", "$warning"))
        edited = f", {counted(len(self.edits[name]), 'key')} edited" if self.edits.get(name) else ""
        parts.append((f"\nconfig{edited}\n", "bold"))
        config = shown(self._config(name), deletion.passwords)
        parts.append(coloured(json.dumps(config, indent=2, ensure_ascii=False, sort_keys=True)))
        return Content.assemble(*parts)

    def _state(self, name: str) -> str:
        deletion = self.deletions[name]
        assert isinstance(deletion, Deletion)
        return self.states.get(name) or initial_state(deletion.entry.state)

    def _config(self, name: str) -> dict[str, str]:
        """The config to restore, with the user's edits."""
        deletion = self.deletions[name]
        assert isinstance(deletion, Deletion)
        values: dict[str, str | None] = {**deletion.config, **self.edits.get(name, {})}
        return {key: value for key, value in values.items() if value is not None}

    def _missing(self, name: str) -> list[str]:
        deletion = self.deletions[name]
        assert isinstance(deletion, Deletion)
        return [key for key in deletion.missing if key not in self.edits.get(name, {})]

    def on_grid_moved(self, event: Grid.Moved) -> None:
        self.set_timer(REST, self._read_current)

    # Keys

    def allows(self, action: str) -> bool:
        if action == "offsets":
            return self.current is not None and bool(self.current.offsets)
        if action == "restore":
            return self.current is not None and not self._busy
        return action not in ("state", "edit") or self.current is not None

    def action_state(self) -> None:
        if (name := self.grid.current) is not None:
            self.states[name] = STATES[(STATES.index(self._state(name)) + 1) % len(STATES)]
            self.show_current()

    def action_offsets(self) -> None:
        if (name := self.grid.current) is not None:
            self.without_offsets ^= {name}
            self.show_current()

    def action_edit(self) -> None:
        if (name := self.grid.current) is not None:
            self.run_worker(self._edit(name), exit_on_error=False)

    async def _edit(self, name: str) -> None:
        deletion = self.current
        assert deletion is not None
        base = {**self._config(name), **dict.fromkeys(self._missing(name), "")}
        editor = ValuesEditor(f"config of {name} to restore", base, deletion.passwords)
        edited = await self.app.push_screen_wait(editor)
        if edited is not None:
            edited["name"] = name  # a deletion is undone under the same name
            differences = changes(deletion.config, edited)
            given = [change for change in differences if change.after != "" or change.key not in deletion.missing]
            self.edits[name] = {change.key: change.after for change in given}
            self.show_current()

    def command(self, name: str) -> UndoDelete:
        """The command that restores the connector as shown."""
        edits = self.edits.get(name, {})
        return UndoDelete(
            name=name,
            sets=tuple(f"{key}={value}" for key, value in edits.items() if value is not None),
            removes=tuple(key for key, value in edits.items() if value is None),
            state=self.states.get(name),
            without_offsets=name in self.without_offsets,
            settle=0.0,  # an operation observes the start
        )

    def action_restore(self) -> None:
        name = self.grid.current
        if name is None or not self.services.may_change("restoring a connector", self.report):
            return
        if missing := self._missing(name):
            self.report(f"the history hides {', '.join(missing)}: e enters the value", "warn")
        else:
            self.run_worker(self._ask(name), group="ask", exclusive=True, exit_on_error=False)

    async def _ask(self, name: str) -> None:
        command = self.command(name)
        self.report("validating the config", "busy")
        preview = await self.runner.preview(command)
        if preview is None:
            return
        if preview.exit_code:
            self.report(preview.outcomes[0].message, "bad")
            return
        self.report("")
        production = self.services.profile.production
        where = f" on {self.services.profile.label}" if production else ""
        dialog = Dialog(
            f"restore {name}{where}?", reading.plain(preview.outcomes[0].message), "restore", danger=production
        )
        if not await self.app.push_screen_wait(dialog):
            self.report(f"cancelled: restore {name}")
            return
        deletion = self.deletions.get(name)
        secret = deletion.passwords if isinstance(deletion, Deletion) else frozenset[str]()
        secret |= self.services.password_keys.hidden(self._config(name))  # edits may name further plugins
        self._busy = True
        self.services.do(self._restore(command, scrubbed_line(script_line(command, secret))))

    async def _restore(self, command: UndoDelete, line: str) -> None:
        state, operations = self._state(command.name), self.services.operations
        try:
            result = await self.runner.run(command, line)
        finally:
            self._busy = False
        if result is not None and not result.exit_code and state == "RUNNING":
            start = operations.begin("start", command.name, goal=state, doing="starting")
            operations.accepted(start)
        if result is None or not self.is_attached:
            return  # the operations log has the result
        if result.exit_code:
            self.report(result.outcomes[0].message, "bad")
            self.action_reload()
        else:
            self.post_message(ConnectorCreated(command.name))
            self.dismiss(None)


def script_line(command: UndoDelete, passwords: Collection[str] = ()) -> str:
    """The script line that does the same; secrets are masked and have to be filled in."""
    words = ["undo", "delete", quote(command.name)]
    for key, _, value in (pair.partition("=") for pair in command.sets):
        words += ["-s", quote(f"{key}={MASK if hides(key, value, passwords) else value}")]
    words += [word for key in command.removes for word in ("-r", quote(key))]
    words += ["--state", command.state] if command.state else []
    return " ".join([*words, "--without-offsets"] if command.without_offsets else words)

"""The connectors of two contexts compared: those that differ, and the differing keys of one side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.timer import Timer
from textual.worker import Worker

from tui.client.password_keys import PasswordKeys
from tui.commands.connectors.comparing import read_configs, read_offsets
from tui.config import comparison, promotion
from tui.config.changes import ConfigChange, diff_lines
from tui.config.comparison import HERE, SAME, THERE, ConnectorDifference
from tui.contexts.profiles import Profile
from tui.errors import HeadraceError, error_line
from tui.formatting import counted, one_line
from tui.offsets.offset_differences import OffsetDifference
from tui.screens.base import program
from tui.screens.base.filtered_page import FilteredPage
from tui.screens.base.split_page import SplitPage
from tui.screens.config import wording
from tui.screens.contexts import diff_text
from tui.screens.services.cluster_services import ClusterServices
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.text import visible

REST = 0.15  # seconds on a row until its offsets are read
MARGIN = 3  # cells of the text's padding and scroll bar
STYLES = {HERE: "grid--error", THERE: "grid--success", SAME: "grid--muted"}
Promote = Callable[[list[str], Profile], None]


class DiffScreen(SplitPage, FilteredPage):
    """Compares all connectors of both clusters. The list is limited to `names`, if there are any; `w` shows all."""

    COLUMNS = (
        Column("name", "CONNECTOR", 24, grows=True, middle=True),
        Column("kind", "DIFFERENCE", 10),
        Column("keys", "KEYS", 20, grows=True),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("greater_than_sign", "promote", "promote", key_display=">", tooltip="promote the marked connectors"),
        Binding("v", "view", "side by side/diff", tooltip="the differing keys side by side, or as lines of a diff"),
        Binding("m", "mapped", "mapped", tooltip="apply the mapping [promote.CONTEXT] of config.toml first, or not"),
        Binding("a", "equal", "show equal", tooltip="also list the connectors without differences"),
        Binding("w", "whole", "whole cluster", tooltip="all connectors, or only the chosen ones"),
        Binding("slash", "filter", "filter", key_display="/", tooltip="list only names that contain a text"),
        Binding("space", "mark", "mark", show=False),
        Binding("asterisk", "mark_all", "mark all shown", key_display="*", show=False),
        Binding("y", "copy", "copy", tooltip="copy the difference of this connector as lines of a diff", show=False),
        Binding("tab,shift+tab", "switch", "list or difference", show=False),
        Binding("f5,ctrl+l", "reload", "read again", key_display="F5"),
    ]

    def __init__(
        self, services: ClusterServices, other: Profile, names: Sequence[str], current: str, promote: Promote
    ) -> None:
        super().__init__(services)
        self.other, self.names, self._start, self._promote = other, tuple(names), current, promote
        self.here: dict[str, Mapping[str, str]] = {}
        self.mapped: dict[str, Mapping[str, str]] = {}  # those here as they were compared
        self.other_configs: dict[str, Mapping[str, str]] = {}
        self.differences: dict[str, ConnectorDifference] = {}  # by name; those only there as in `_key`
        self.paired: dict[str, str] = {}  # names here to names there
        self.offsets: dict[str, list[OffsetDifference] | str] = {}  # by the key of the row; a text is the error
        self.passwords: frozenset[str] = frozenset()  # keys of type PASSWORD, of any plugin
        self.marked: set[str] = set()
        self.is_mapped = self.shows_equal = self.is_unified = False
        self.is_whole = not names
        self._resting: Timer | None = None
        self._reader: Worker[None] | None = None  # reads the offsets of the row that is its name

    def on_mount(self) -> None:
        self.grid.marks = self.marked
        self.grid.focus()
        self.draw()
        self.action_reload()

    def on_resize(self) -> None:
        self.call_after_refresh(self.show_current)  # its columns depend on the width

    # Reading

    def action_reload(self) -> None:
        self.run_worker(self._read(), exclusive=True, exit_on_error=False)

    async def _read(self) -> None:
        self.grid.empty = f"reading the connectors of {self.other.label}…"
        self._forget_offsets()
        self.report("reading", "busy")
        try:
            self.here = await read_configs(self.services.connect)
            passwords = await self.services.password_keys.of(*self.here.values())
            async with self.services.context().cluster.connected_to(self.other) as connect:
                theirs = await read_configs(connect)
                self.passwords = passwords | await PasswordKeys(connect.plugin_config).of(*theirs.values())
            self.other_configs = theirs
        except HeadraceError as error:
            self.grid.empty = one_line(error.message)
            self.report(error_line(error), "bad")
        else:
            self.report("")
            self._compare()
        self.draw()
        self.grid.go(self._start)
        self._start = ""
        self._read_current()

    def on_grid_moved(self, event: Grid.Moved) -> None:
        if self._resting is not None:
            self._resting.stop()
        self._resting = self.set_timer(REST, self._read_current)

    def _read_current(self) -> None:
        """Reads the offsets of the row under the cursor; a read for another row is cancelled."""
        key = self.grid.current
        if key not in self.differences or key in self.offsets or self._is_read(key):
            return
        self._reader = self.run_worker(
            self._read_offsets(key), name=key, group="offsets", exclusive=True, exit_on_error=False
        )

    def _is_read(self, key: str) -> bool:
        """Whether the offsets of this row are being read."""
        reader = self._reader
        return reader is not None and reader.name == key and not (reader.is_cancelled or reader.is_finished)

    def _forget_offsets(self) -> None:
        if self._reader is not None:
            self._reader.cancel()  # it may read the connector to which another mapping leads
        self.offsets.clear()

    async def _read_offsets(self, key: str) -> None:
        difference = self.differences[key]
        try:
            async with self.services.context().cluster.connected_to(self.other) as connect:
                here = None if difference.kind == THERE else (self.services.connect, difference.name)
                connects = (
                    None if difference.kind == HERE else (connect, self.paired.get(difference.name, difference.name))
                )
                self.offsets[key] = await read_offsets(here, connects)
        except HeadraceError as error:
            self.offsets[key] = f"not read: {error_line(error)}"
        if self.grid.current == key:
            self.show_current()

    def _compare(self) -> None:
        """Compares the configs read last; without the mapping if it cannot be read, which is reported."""
        mapping = promotion.PromotionMapping()
        if self.is_mapped:
            try:
                mapping = promotion.load(self.services.context().cluster.profiles.path.parent, self.other.name)
            except HeadraceError as error:
                self.is_mapped = False
                self.report(error_line(error), "bad")
        self.paired = {name: mapping.name(name) for name in self.here}
        self.mapped = {name: mapping.config(config, self.paired[name]) for name, config in self.here.items()}
        self.differences = {
            _key(difference): difference
            for difference in comparison.compared(self.mapped, self.other_configs, self.paired)
        }

    # Display

    @property
    def scope(self) -> list[str]:
        """The connectors in the list's scope, before the filter, with or without differences."""
        if self.is_whole:
            return list(self.differences)
        names = {*self.names, *(self.paired.get(name, name) for name in self.names)}
        return [key for key, difference in self.differences.items() if difference.name in names]

    def draw(self) -> None:
        shown = [key for key in self.scope if self.shows_equal or self.differences[key].differs]
        keys = [key for key in shown if self.filter_text.lower() in self.differences[key].name.lower()]
        if self.differences and not keys:
            scope = counted(len(self.scope), "connector")
            self.grid.empty = f"no name contains {self.filter_text}" if shown else f"no differences between {scope}"
        differences = [self.differences[key] for key in keys]
        widths = {"name": max((len(self._title(difference)) for difference in differences), default=0)}
        widths["keys"] = max((len(_keys(difference)) for difference in differences), default=0)
        self.grid.show(keys, self._cells, widths, follow=True)
        differing = sum(self.differences[key].differs for key in self.scope)
        mapped = "mapped  " if self.is_mapped else ""
        total = f"{differing} of {len(self.scope)} differ" if self.differences else ""
        marked = f"{len(self.marked)} marked  " if self.marked else ""
        style = "bold $error" if self.other.production else "bold"
        self.head(("diff", "bold $accent"), " with ", (visible(self.other.label), style), end=marked + mapped + total)
        self.show_current()
        self.refresh_bindings()

    def _title(self, difference: ConnectorDifference) -> str:
        paired = self.paired.get(difference.name, difference.name)
        return (
            difference.name
            if paired == difference.name or difference.kind == THERE
            else f"{difference.name} → {paired}"
        )

    def _cells(self, key: str) -> Mapping[str, Cell]:
        difference = self.differences[key]
        style = STYLES.get(difference.kind, "grid--warning")
        return {
            "name": Cell(self._title(difference)),
            "kind": Cell(difference.kind, style),
            "keys": Cell(_keys(difference)),
        }

    @property
    def current(self) -> ConnectorDifference | None:
        return self.differences.get(self.grid.current or "")

    def show_current(self) -> None:
        difference, width = self.current, self.pager.size.width - MARGIN
        self.pager.put(Content("") if difference is None else self._explained(difference, max(40, width)), top=True)

    def _explained(self, difference: ConnectorDifference, width: int) -> Content:
        here, other = self.services.profile.label, self.other.label
        head: list[str | tuple[str, str]] = [(f"{visible(self._title(difference))}\n", "bold $accent")]
        changes = self._made(difference)
        offsets = diff_text.offsets(self.offsets.get(self.grid.current or "", "reading…"), (here, other), width)
        if not changes:
            return Content.assemble(*head, ("no differences", "$text-muted"), "\n", offsets)
        if difference.kind == THERE:
            head.append((f"only {visible(other)} has this connector\n", "$text-muted"))
        elif difference.kind == HERE:
            head.append((f"only {visible(here)} has this connector; > promotes it\n", "$text-muted"))
        if self.is_unified or difference.kind in (HERE, THERE):
            head += [(f"− {visible(here)}", "$error"), "  ", (f"+ {visible(other)}", "$success"), "\n\n"]
            return Content.assemble(*head, wording.diff(changes, self.passwords), "\n", offsets)
        rows = diff_text.config_rows(changes, self.passwords)
        return Content.assemble(*head, "\n", diff_text.configs((here, other), rows, width), offsets)

    def _made(self, difference: ConnectorDifference) -> Sequence[ConfigChange]:
        return diff_text.keys_of(difference, self.mapped.get(difference.name), self.other_configs.get(difference.name))

    # Keys

    def allows(self, action: str) -> bool:
        if action == "whole":
            return bool(self.names)
        if action == "promote":
            return bool(self.chosen)
        return action not in ("mark", "mark_all") or self.grid.has_focus

    @property
    def chosen(self) -> list[str]:
        """The connectors to promote: the marked ones, or that under the cursor; only those that this cluster has."""
        keys = [key for key in self.differences if key in self.marked] or [self.grid.current or ""]
        return [key for key in keys if key in self.here]

    def action_promote(self) -> None:
        self._promote(self.chosen, self.other)

    def action_view(self) -> None:
        self.is_unified = not self.is_unified
        self.show_current()

    def action_mapped(self) -> None:
        self.is_mapped = not self.is_mapped
        self.report("compared after the mapping of config.toml" if self.is_mapped else "compared without a mapping")
        self._compare()
        self._forget_offsets()
        self.draw()
        self._read_current()

    def action_equal(self) -> None:
        self.shows_equal = not self.shows_equal
        self.draw()

    def action_whole(self) -> None:
        self.is_whole = not self.is_whole
        self.draw()

    def action_mark(self) -> None:
        if (key := self.grid.current) is not None:
            self.marked ^= {key}
            self.grid.action_move(1)
        self.draw()

    def action_mark_all(self) -> None:
        keys = set(self.grid.keys)
        self.marked = self.marked - keys if keys <= self.marked else self.marked | keys
        self.grid.marks = self.marked
        self.draw()

    def draw_filtered(self) -> None:
        self.draw()

    def action_back(self) -> None:
        if self.filter_text:
            self.set_filter("")
        else:
            super().action_back()

    def action_copy(self) -> None:
        if (difference := self.current) is not None:
            text = "\n".join(diff_lines(self._made(difference), self.passwords))
            program.copy(self, text, f"difference of {difference.name}")
            self.report(program.of(self).copied)


def _key(difference: ConnectorDifference) -> str:
    """The key of its row. With a mapping, a connector there may have the name of another one here."""
    return f"\0{difference.name}" if difference.kind == THERE else difference.name


def _keys(difference: ConnectorDifference) -> str:
    """The differing keys: `+` set only there, `−` set only here."""
    return " ".join(f"{change.sign}{change.key}" for change in difference.changes)

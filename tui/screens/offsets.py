"""The offsets of a connector: a table of partitions, and the same as JSON to edit in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static, TextArea

from tui.editor import draft
from tui.editor.apply import Applied, NotApplied, Plan
from tui.editor.draft import Draft
from tui.model import Connector, Offset
from tui.offsets import partitions
from tui.offsets.changes import Change, changes, inverse
from tui.screens import wording
from tui.widgets.columns import Column
from tui.widgets.grid import Cell, Grid
from tui.widgets.jsontext import JsonArea
from tui.widgets.pager import Pager

CHECK_AFTER = 0.08  # seconds after the last key
COLUMNS = (
    Column("partition", "PARTITION", 24, grows=True),
    Column("offset", "OFFSET", 20, grows=True),
)


class Editor(JsonArea):
    """The keys of editing; all others are text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,f2", "apply", "apply", key_display="^s"),
        Binding("escape,ctrl+c", "leave", "back, text is kept", key_display="esc"),
        Binding("f5,ctrl+r", "reload", "start over", key_display="F5"),
    ]

    class Command(Message):
        """One of them was pressed."""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    def action_apply(self) -> None:
        self.post_message(self.Command("apply"))

    def action_leave(self) -> None:
        self.post_message(self.Command("leave"))

    def action_reload(self) -> None:
        self.post_message(self.Command("reload"))


class OffsetsPane(Vertical):
    """Knows nothing of the network: it asks by messages, and is told."""

    DEFAULT_CSS = """
    OffsetsPane #verdict { display: none; height: auto; max-height: 8; padding: 0 1; border-left: thick $success; }
    OffsetsPane #verdict.-shown { display: block; }
    OffsetsPane #verdict.-possible { border-left: thick $warning; }
    OffsetsPane #verdict.-refused { border-left: thick $error; }
    OffsetsPane #partitions { height: 1fr; }
    OffsetsPane #editing { display: none; height: 1fr; layout: vertical; }
    OffsetsPane.-editing #editing { display: block; }
    OffsetsPane.-editing #partitions { display: none; }
    OffsetsPane Editor { height: 1fr; min-height: 4; }
    OffsetsPane #review { height: auto; max-height: 50%; min-height: 2; border-top: solid $border; }
    OffsetsPane.-broad #editing { layout: horizontal; }
    OffsetsPane.-broad Editor { width: 3fr; height: 1fr; }
    OffsetsPane.-broad #review {
        width: 2fr; height: 1fr; max-height: 100%; border-top: none; border-left: solid $border;
    }
    """

    class Asked(Message):
        """`load`: please read the offsets and call `loaded` or `unreadable`."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    class Apply(Message):
        """The text was checked and shall be applied."""

        def __init__(self, plan: Plan) -> None:
            super().__init__()
            self.plan = plan

    class Said(Message):
        """For the status line."""

        def __init__(self, text: str, kind: str) -> None:
            super().__init__()
            self.text, self.kind = text, kind

    def __init__(self, id: str | None = None) -> None:
        super().__init__(id=id)
        self.connector: Connector | None = None
        self.offsets: tuple[Offset, ...] | None = None
        self.drafts: dict[str, Draft] = {}
        self.undone_by: dict[str, list[Change]] = {}
        self._want_edit = ""  # "edit" or "undo" as soon as the offsets are there
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="verdict", markup=False)
        yield Grid(COLUMNS, id="partitions")
        with Container(id="editing"):
            yield Editor(id="editor")
            yield Pager(id="review")

    def on_resize(self) -> None:
        self.set_class(self.size.width >= 130, "-broad")

    # What is shown

    @property
    def editor(self) -> Editor:
        return self.query_one(Editor)

    @property
    def is_editing(self) -> bool:
        return self.has_class("-editing")

    @property
    def name_shown(self) -> str:
        return self.connector.name if self.connector else ""

    def show(self, connector: Connector | None) -> None:
        """Another connector, or news of the same one."""
        same = connector is not None and connector.name == self.name_shown
        self.connector = connector
        if same and connector is not None:
            if (kept := self.drafts.get(connector.name)) is not None:
                self.drafts[connector.name] = kept.with_connector(connector)
            return
        self.offsets, self._want_edit = None, ""
        self.remove_class("-editing")
        self.tell(None)
        self.table("reading the offsets…" if connector else "")

    def tell(self, content: Content | None, kind: str = "") -> None:
        banner = self.query_one("#verdict", Static)
        banner.set_classes("-shown " + kind if content is not None else "")
        if content is not None:
            banner.update(content)

    def ask(self) -> None:
        """Reads them (again)."""
        if self.connector is not None:
            self.post_message(self.Asked(self.connector.name))

    def loaded(self, name: str, offsets: tuple[Offset, ...]) -> None:
        if name != self.name_shown:
            return
        self.offsets = offsets
        self.table("no offsets committed yet; e writes a first one" if not offsets else "")
        wanted, self._want_edit = self._want_edit, ""
        if wanted == "edit":
            self.edit()
        elif wanted == "undo":
            self.undo()

    def unreadable(self, name: str, message: str) -> None:
        if name == self.name_shown and self.offsets is None:
            self.table(message)

    def table(self, instead: str) -> None:
        grid = self.query_one("#partitions", Grid)
        rows = {partitions.key(entry.partition): entry for entry in self.offsets or ()}

        def cells(key: str) -> Mapping[str, Cell]:
            entry = rows.get(key)
            if entry is None:
                return {"partition": Cell(instead, "grid--muted")}
            return {
                "partition": Cell(partitions.shown(entry.partition)),
                "offset": Cell(partitions.shown_offset(entry.offset), "grid--strong"),
            }

        texts = [partitions.shown(entry.partition) for entry in rows.values()] or [instead]
        offsets = [partitions.shown_offset(entry.offset) for entry in rows.values()]
        wanted = {"partition": max(map(len, texts)), "offset": max(map(len, offsets), default=0)}
        grid.show(list(rows) or ([""] if instead else []), cells, wanted)

    # Editing

    def edit(self) -> None:
        """Opens the editor, with the kept text if there is one."""
        if self.connector is None:
            return
        if self.offsets is None:
            self._want_edit = "edit"
            return
        kept = self.drafts.get(self.name_shown)
        if kept is None or not kept.is_touched:
            kept = draft.fresh(self.connector, self.offsets)
        else:
            self.post_message(self.Said("your text from before; F5 starts over", "info"))
        self.open(kept)

    def undo(self) -> None:
        """The last change of this session, backwards, as a text to look at and apply."""
        if self.connector is None:
            return
        back = self.undone_by.get(self.name_shown)
        if back is None:
            self.post_message(self.Said("nothing to undo: no offsets of it were changed in this session", "info"))
        elif self.offsets is None:
            self._want_edit = "undo"
        else:
            self.open(draft.of_changes(self.connector, self.offsets, back))

    def open(self, one: Draft) -> None:
        self.drafts[self.name_shown] = one
        self.tell(None)
        self.editor.read_only = False
        self.editor.match_cursor_bracket = len(one.base) < 200  # it searches the whole text with each move
        self.editor.load_text(one.text)
        self.add_class("-editing")
        self.editor.focus()
        self.place_cursor(one)
        self.check()

    def place_cursor(self, one: Draft) -> None:
        """On the offset of the partition that the table's cursor was on."""
        row = self.query_one("#partitions", Grid)
        place = row.keys.index(row.cursor) if row.cursor in row.keys else 0
        lines = [number for number, line in enumerate(one.text.split("\n")) if line.lstrip().startswith('"offset"')]
        if lines:
            line = lines[min(place, len(lines) - 1)]
            self.editor.move_cursor((line, max(0, len(one.text.split("\n")[line].rstrip("},")))))

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if not self.is_editing:
            return
        self.drafts[self.name_shown] = self.drafts[self.name_shown].typed(self.editor.text)
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(CHECK_AFTER, self.check)

    def check(self) -> None:
        """Says what is wrong, or what would change."""
        one = self.drafts.get(self.name_shown)
        if one is None or not self.is_editing:
            return
        found = one.review()
        errors = found.checked.errors
        self.editor.mark(errors[0].place if errors else None)
        self.query_one("#review", Pager).put(wording.review(found))

    def on_editor_command(self, event: Editor.Command) -> None:
        event.stop()
        if event.what == "leave":
            self.leave()
        elif event.what == "reload" and not self.editor.read_only:
            self.drafts.pop(self.name_shown, None)
            self.offsets, self._want_edit = None, "edit"
            self.ask()
        elif event.what == "apply" and not self.editor.read_only:
            self.apply()

    def leave(self) -> None:
        touched = (one := self.drafts.get(self.name_shown)) is not None and one.is_touched
        if touched:
            self.post_message(self.Said("the text is kept: e goes on with it", "info"))
        self.remove_class("-editing")
        self.query_one("#partitions", Grid).focus()

    def apply(self) -> None:
        self.check()
        one = self.drafts[self.name_shown]
        found = one.review()
        if found.checked.errors:
            first = found.checked.errors[0]
            self.editor.move_cursor((first.place.line - 1, first.place.column - 1))
            self.post_message(self.Said("not yet: first what is marked", "info"))
        elif not found.changes:
            self.post_message(self.Said("nothing would change", "info"))
        else:
            self.post_message(self.Apply(one.plan(found.changes)))

    # What became of it

    def applying(self, name: str) -> None:
        if name == self.name_shown:
            self.editor.read_only = True
            self.tell(None)

    def applied(self, plan: Plan, done: Applied) -> None:
        self.drafts.pop(plan.name, None)
        made = [Offset(change.partition, change.after) for change in plan.changes]
        self.undone_by[plan.name] = inverse(changes(done.before, made))
        if plan.name != self.name_shown:
            return
        self.editor.read_only = False
        self.remove_class("-editing")
        self.loaded(plan.name, done.after)
        self.tell(*wording.verdict(plan.name, done))
        if self.display and self.parent is not None:
            self.query_one("#partitions", Grid).focus()

    def refused(self, plan: Plan, error: NotApplied) -> None:
        """The text stays; where somebody else was quicker, it is compared with what is there now."""
        kept = self.drafts.get(plan.name)
        if kept is not None and error.now is not None:
            self.drafts[plan.name] = kept.rebased(error.now)
        if plan.name != self.name_shown:
            return
        self.editor.read_only = False
        self.tell(wording.refusal(error), "-refused")
        self.check()

    @property
    def has_unsaved(self) -> list[str]:
        """Names of connectors whose texts would be lost."""
        return [name for name, one in self.drafts.items() if one.is_touched]

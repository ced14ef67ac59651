"""The offsets tab of a connector: a table of partitions, and an editor of the same offsets as JSON."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.timer import Timer
from textual.widgets import TextArea

from tui.client.versions import ALTER_OFFSETS
from tui.editor import draft
from tui.editor.draft import OffsetDraft
from tui.editor.kept_texts import OFFSETS
from tui.formatting import clock_time
from tui.model import Connector, Offset
from tui.offsets import bounds
from tui.offsets.bounds import Bounds
from tui.offsets.lag import NO_WARNINGS, Lag, OffsetWarnings
from tui.offsets.plan import OffsetPlan, OffsetsApplied, OffsetsNotApplied
from tui.offsets.seek import SeekPlan, SeekPlanner
from tui.screens.base.banner import Banner
from tui.screens.base.navigation import ChangeInterrupted, OpenRecords
from tui.screens.base.pane import Pane
from tui.screens.offsets import wording
from tui.screens.offsets.controller import OffsetsController
from tui.screens.offsets.editor import Editor
from tui.screens.offsets.reading import OffsetReading
from tui.screens.services.cluster_services import ClusterServices
from tui.screens.services.host import GONE
from tui.widgets.jsontext import BEING_APPLIED, DISCARDED
from tui.widgets.pager import Pager

CHECK_DELAY = 0.08  # seconds after the last key
READING = "reading the offsets…"


class OffsetsPane(Pane):
    """Shows and edits offsets; the controller sends the requests."""

    interval = 3.0
    DEFAULT_CSS = """
    OffsetsPane #editing { display: none; height: 1fr; layout: vertical; }
    OffsetsPane.-editing #editing { display: block; }
    OffsetsPane.-editing OffsetReading { display: none; }
    OffsetsPane Editor { height: 1fr; min-height: 4; }
    OffsetsPane #review { height: auto; max-height: 50%; min-height: 2; border-top: solid $border; }
    OffsetsPane.-broad #editing { layout: horizontal; }
    OffsetsPane.-broad Editor { width: 3fr; height: 1fr; }
    OffsetsPane.-broad #review {
        width: 2fr; height: 1fr; max-height: 100%; border-top: none; border-left: solid $border;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "w",
            "set_by_time",
            "set by time",
            id="offsets-set-by-time",
            tooltip="set a sink to a time, earliest, latest, or ±N",
        ),
        Binding("v", "records", "records", id="offsets-records", tooltip="the records at this offset"),
        Binding("f4", "record_here", "record", key_display="F4", tooltip="the record at the offset in this line"),
    ]

    def __init__(self, services: ClusterServices, id: str = "offsets") -> None:
        super().__init__(services, id)
        self.controller = OffsetsController(services, self)
        self.offsets: tuple[Offset, ...] | None = None
        self.read_at = 0.0
        self.trouble = ""  # why the last read failed
        self._asking: set[str] = set()
        self._applying: set[str] = set()  # connectors whose text cannot be edited, since it is being applied
        self.drafts: dict[str, OffsetDraft] = {}
        self.lags: Mapping[str, Lag] = {}
        self.remarks = NO_WARNINGS
        self._want_edit = False  # as soon as the offsets have been read
        self._starting_over = False  # the editor's text is replaced as soon as the offsets have been read
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Banner("verdict")
        yield OffsetReading("reading")
        with Container(id="editing"):
            yield Editor(id="editor")
            yield Pager(id="review")

    def on_resize(self) -> None:
        self.set_class(self.size.width >= 130, "-broad")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only the offsets of sinks are positions in topics."""
        if action in ("records", "record_here") and self.is_editing is not (action == "record_here"):
            return False
        if self.is_gone and action == "set_by_time":
            return False
        is_known = action in ("set_by_time", "records", "record_here")
        return not is_known or (self.connector is not None and self.connector.type != "source")

    def why_not(self, action: str) -> str:
        if self.is_gone:
            return GONE
        is_source = self.connector is not None and self.connector.type == "source"
        return "the offsets of a source are not positions in topics" if is_source else ""

    # Display

    @property
    def editor(self) -> Editor:
        return self.query_one(Editor)

    @property
    def subject(self) -> str:
        return self.editor.text

    @property
    def reading(self) -> OffsetReading:
        return self.query_one(OffsetReading)

    @property
    def is_editing(self) -> bool:
        return self.has_class("-editing")

    def take_focus(self) -> None:
        (self.editor if self.is_editing else self.reading.table).focus()

    def show(self, connector: Connector | None) -> None:
        """Shows another connector, or a new snapshot of the same one."""
        kept = self.drafts.get(connector.name) if connector is not None else None
        if kept is not None and connector is not None and connector.name == self.name_shown:
            self.drafts[connector.name] = kept.with_connector(connector)
        super().show(connector)

    def reset(self) -> None:
        self.offsets, self.lags, self.trouble = None, {}, ""
        self._want_edit = self._starting_over = False
        self.remove_class("-editing")
        self.set_banner(None)
        self.table(READING if self.connector else "")

    def deleted(self) -> None:
        """The edited text is kept for the next connector of the name."""
        if self.is_editing:
            self.set_banner(None)
        else:
            super().deleted()

    def fetch(self) -> None:
        if not self.is_editing:
            self.read()

    def _fetch_again(self) -> None:
        """Also runs while the worker does not respond, to show the age of the offsets."""
        self.draw_age()
        super()._fetch_again()

    def set_banner(self, content: Content | None, kind: str = "") -> None:
        self.query_one(Banner).show(content, kind)

    def read(self) -> None:
        """Reads the offsets, unless a request is already under way: an outage of the brokers delays the response."""
        if self.connector is not None and self.connector.name not in self._asking:
            self._asking.add(self.connector.name)
            self.services.do(self._load(self.connector.name))

    async def _load(self, name: str) -> None:
        try:
            await self.controller.load(name)
        finally:
            self._asking.discard(name)

    def loaded(
        self, name: str, offsets: tuple[Offset, ...], lags: Mapping[str, Lag], remarks: OffsetWarnings = NO_WARNINGS
    ) -> None:
        if name != self.name_shown:
            return
        self.offsets, self.lags, self.remarks = offsets, lags, remarks
        self.read_at, self.trouble = time.time(), ""
        self.table("no offsets committed yet; e sets initial offsets" if not offsets else "")
        wanted, starts_over = self._want_edit, self._starting_over
        self._want_edit = self._starting_over = False
        self.services.clear_report(READING)
        if starts_over and self.connector is not None:
            touched = (kept := self.drafts.get(name)) is not None and kept.is_touched
            self._discard(name)
            self.open(draft.unchanged(self.connector, offsets), undoable=True)
            self.report(DISCARDED if touched else "")
        elif wanted and self.is_open:
            self._open_editor()

    def unreadable(self, name: str, message: str) -> None:
        if name != self.name_shown:
            return
        self.trouble = message
        wanted, self._want_edit = self._want_edit, False
        self.services.clear_report(READING)
        if self._starting_over:
            self._keep_text()
            self.report(f"the text is kept: {message}", "warn")
        if self.offsets is None:
            self.table(message)
        else:
            self.draw_age()
            if wanted and self.is_open:
                self._open_editor()
                self.report(wording.age(time.time() - self.read_at, message), "warn")

    def table(self, instead: str) -> None:
        self.reading.put(self.offsets or (), self.lags, self.remarks, instead)
        self.draw_age()

    @property
    def _is_old(self) -> bool:
        return self.offsets is not None and (bool(self.trouble) or time.time() - self.read_at > 2 * self.interval)

    def draw_age(self) -> None:
        """The age of the offsets; empty while they are fresh."""
        self.reading.show_age(wording.age(time.time() - self.read_at, self.trouble) if self._is_old else "")

    # Editing

    def edit(self) -> None:
        """Opens the editor. Old offsets are read again before, unless the cluster does not respond."""
        if self.connector is None:
            return
        if self.offsets is None or (self._is_old and not self.services.is_stale):
            self._want_edit = True
            self.report(READING)
            self.read()
        else:
            self._open_editor()

    def _open_editor(self) -> None:
        """Opens the editor with the offsets read last, with the kept text if there is one."""
        if self.connector is None or self.offsets is None:
            return
        if self.name_shown in self._applying:
            self.open(self.drafts[self.name_shown])
            self.editor.read_only = True
            self.report(BEING_APPLIED)
            return
        self._want_edit = False
        origin = self._take_over()
        kept = self.drafts.get(self.name_shown)
        if kept is None or not kept.is_touched:
            self.open(draft.unchanged(self.connector, self.offsets))
            return
        moved = kept.base != self.offsets
        self.open(kept.onto(self.offsets))
        since = ", compared with the current offsets" if moved else ""
        self.report(f"restored your text{origin}{since}; F5 starts over")

    def _take_over(self) -> str:
        """Takes over the text that a console has left behind, if there is one. Returns its time, for the report."""
        if self.connector is None or self.name_shown in self.drafts:
            return ""
        if (left := self.services.text_left_behind(OFFSETS, self.name_shown)) is None:
            return ""
        self.drafts[self.name_shown] = draft.restored(self.connector, left.fields)
        return f" of {clock_time(left.time, time.time())}"

    def _has_text(self) -> bool:
        """Whether there is an edited text, which another one would replace."""
        self._take_over()
        if (kept := self.drafts.get(self.name_shown)) is None or not kept.is_touched:
            return False
        self.report("there is an edited text that has not been applied: e continues it, F5 there discards it", "warn")
        return True

    def undo(self) -> None:
        """Opens the editor with the last change reversed."""
        if self.connector is not None and not self._has_text():
            self.services.do(self.controller.undo(self.connector.name))

    def action_set_by_time(self) -> None:
        """Opens the editor with the offsets of a point in time."""
        if self.connector is None or self.is_editing or self._has_text():
            return
        if reason := self.services.missing(ALTER_OFFSETS):
            self.report(reason, "warn")
            return
        self.services.do(self.controller.set_by_time(self.connector.name, self.reading.current))

    def set_to(self, topic: str, partition: int, offset: int) -> None:
        """Opens the editor with the position of a record of the sink's topic."""
        if self.connector is not None and not self._has_text():
            self.services.do(self.controller.set_to(self.connector.name, topic, partition, offset))

    def action_records(self) -> None:
        """Shows the records at the offset under the cursor."""
        self._show_records(self.reading.current)

    def action_record_here(self) -> None:
        """Shows the record at the offset in the editor's line."""
        self._show_records(self.drafts[self.name_shown].entry_at(self.editor.cursor_location[0] + 1))

    def _show_records(self, here: Offset | None) -> None:
        if here is not None and (at := bounds.topic_partition(here.partition)) is not None:
            self.post_message(OpenRecords(at[0], self.name_shown, at[1], bounds.sink_position(here.offset)))

    async def choose_position(self, name: str, here: Offset | None, seek_planner: SeekPlanner) -> SeekPlan | None:
        """Asks for a position in time; None if the dialog was closed."""
        from tui.screens.offsets.set_by_time import SetByTimeDialog

        return await self.app.push_screen_wait(SetByTimeDialog(name, here, seek_planner))

    def open(self, draft: OffsetDraft, undoable: bool = False) -> None:
        """`undoable`: one undo brings the text back that is in the editor."""
        self.drafts[self.name_shown] = draft
        self.set_banner(None)
        self.add_class("-editing")
        self.editor.begin(draft.text, len(draft.base), self.reading.table.place, undoable)
        self.check()
        if draft.connector.type == "sink":
            self.services.do(self.controller.bound(draft.connector, draft.base, self.lags))

    def bounded(self, name: str, bounds: Bounds) -> None:
        """First and last offsets of the topics, with which the text is compared."""
        if (draft := self.drafts.get(name)) is not None:
            self.drafts[name] = draft._replace(bounds=bounds)
            if name == self.name_shown:
                self.check()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if not self.is_editing:
            return
        self.drafts[self.name_shown] = self.drafts[self.name_shown].typed(self.editor.text)
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(CHECK_DELAY, self.check)

    def check(self) -> None:
        """Shows errors in the text, or what would change."""
        draft = self.drafts.get(self.name_shown)
        if draft is None or not self.is_editing:
            return
        self.services.keep_text(OFFSETS, self.name_shown, draft.fields if draft.is_touched else None)
        review = draft.review()
        errors = review.checked.errors
        if not errors:
            self.clear_warning()
        self.editor.mark(errors[0].place if errors else None)
        self.query_one("#review", Pager).put(wording.review(review))

    def on_command_editor_command(self, event: Editor.Command) -> None:
        event.stop()
        if event.action == "leave":
            self.leave()
        elif self.editor.read_only:
            self.report(READING if self._starting_over else BEING_APPLIED)
        elif event.action == "reload":
            self.start_over()
        elif event.action == "apply":
            self.apply()

    def start_over(self) -> None:
        """Replaces the text by the offsets that the worker has now; until they have been read, it cannot be edited."""
        self._starting_over = self.editor.read_only = True
        self.report(READING)
        self.read()

    def _keep_text(self) -> None:
        self._starting_over = self.editor.read_only = False

    def leave(self) -> None:
        if self._starting_over:
            self.clear_report()
            self._keep_text()
        touched = (draft := self.drafts.get(self.name_shown)) is not None and draft.is_touched
        if touched:
            self.report("the text is kept; e continues editing")
        elif self._status_text == DISCARDED:
            self.clear_report()  # the next editor cannot undo it
        self.remove_class("-editing")
        self.reading.table.focus()

    def apply(self) -> None:
        self.check()
        draft = self.drafts[self.name_shown]
        review = draft.review()
        if review.checked.errors:
            first = review.checked.errors[0]
            self.editor.go_to(first.place)
            self.report(f"not applied: fix line {first.place.line} first", "warn")
        elif not review.changes:
            self.report("nothing would change", "warn")
        else:
            self.controller.apply(draft.plan(review.changes))

    # Results

    def applying(self, name: str) -> None:
        self._applying.add(name)
        if name == self.name_shown:
            self.editor.read_only = True
            self.set_banner(None)

    def _discard(self, name: str) -> None:
        self.drafts.pop(name, None)
        self.services.keep_text(OFFSETS, name, None)

    def applied(self, plan: OffsetPlan, done: OffsetsApplied) -> None:
        self._applying.discard(plan.name)
        self._discard(plan.name)
        if plan.name != self.name_shown:
            return
        self.editor.read_only = False
        self.remove_class("-editing")
        self.loaded(plan.name, done.after, {})
        self.set_banner(*wording.verdict(plan, done))
        if self.display and self.parent is not None:
            self.reading.table.focus()

    def refused(self, plan: OffsetPlan, error: OffsetsNotApplied) -> None:
        """Keeps the text. If the offsets were changed meanwhile, the text is compared with the current offsets."""
        self._applying.discard(plan.name)
        kept = self.drafts.get(plan.name)
        if kept is not None and error.now is not None:
            self.drafts[plan.name] = kept.rebased(error.now)
        if plan.name != self.name_shown:
            return
        self.editor.read_only = False
        self.set_banner(wording.refusal(error), "-refused")
        self.check()

    def settled(self, name: str) -> None:
        """The unfinished change was settled, so that what the page says about it is over."""
        if name == self.name_shown:
            self.set_banner(None)

    def interrupted(self, name: str) -> None:
        """The change is unfinished: the main screen asks how to proceed."""
        self.post_message(ChangeInterrupted(name))

    @property
    def has_unsaved(self) -> list[str]:
        """Names of connectors whose texts would be lost."""
        return [name for name, draft in self.drafts.items() if draft.is_touched]

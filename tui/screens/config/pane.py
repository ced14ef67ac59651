"""The config tab of a connector: keys with documentation, and an editor in place."""

from __future__ import annotations

import time
from asyncio import gather
from collections.abc import Mapping
from contextlib import suppress
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.timer import Timer
from textual.widgets import TextArea

from tui.config import draft
from tui.config.draft import ConfigDraft
from tui.config.text import ConfigFormat
from tui.editor.kept_texts import CONFIG
from tui.editor.places import TextPosition
from tui.errors import HeadraceError
from tui.formatting import clock_time
from tui.model import Connector
from tui.screens.base.banner import Banner
from tui.screens.base.navigation import OpenConfigHistory
from tui.screens.base.pane import Pane
from tui.screens.base.program import copy
from tui.screens.config import wording as words
from tui.screens.config.controller import ConfigController
from tui.screens.config.editor import ConfigEditor
from tui.screens.config.keys import ConfigKeys
from tui.screens.config.validating import Validator
from tui.screens.services.cluster_services import ClusterServices
from tui.widgets.grid import Grid
from tui.widgets.jsontext import BEING_APPLIED, DISCARDED
from tui.widgets.pager import Pager

REVIEW_DELAY = 0.08  # seconds from the last key to the review
VALIDATE_DELAY = 0.25  # seconds from the review to the validation by the worker
NOT_READ = "definitions not read: values are hidden"
BROAD = 110  # columns from which documentation is shown beside the keys


class ConfigPane(Pane):
    """Drafts are kept by connector as long as the program runs."""

    FOCUS = "#keys"
    DEFAULT_CSS = """
    ConfigPane #editing { display: none; height: 1fr; layout: vertical; }
    ConfigPane.-editing #editing { display: block; }
    ConfigPane.-editing #reading { display: none; }
    ConfigPane ConfigEditor { height: 1fr; min-height: 4; }
    ConfigPane #review { height: auto; max-height: 40%; min-height: 2; border-top: solid $border; }
    ConfigPane.-broad #reading, ConfigPane.-broad #editing { layout: horizontal; }
    ConfigPane.-broad #keys, ConfigPane.-broad ConfigEditor { width: 3fr; height: 1fr; }
    ConfigPane.-broad #explanation, ConfigPane.-broad #review {
        width: 2fr; height: 1fr; max-height: 100%; border-top: none; border-left: solid $border;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "edit config"),
        Binding("a", "all", "all keys", tooltip="also keys that are not set, with their defaults"),
        Binding("H", "history", "history", tooltip="changes of this config, with undo and rollback"),
        Binding("y", "copy", "copy", tooltip="copy as JSON, secrets masked"),
    ]

    def __init__(self, services: ClusterServices, id: str = "config") -> None:
        super().__init__(services, id)
        self.drafts: dict[str, ConfigDraft] = {}
        self._reading: set[str] = set()  # connectors whose definitions are being read
        self._asked_for: dict[str, Mapping[str, str] | None] = {}  # the config last asked for; None without a response
        self._applying: set[str] = set()  # connectors whose text cannot be edited, since it is being applied
        self._checking: Timer | None = None
        self.validator = Validator(lambda: self.services.connect, self.review)
        self.controller = ConfigController(services, self)

    def compose(self) -> ComposeResult:
        yield Banner("verdict")
        yield ConfigKeys("reading")
        with Container(id="editing"):
            yield ConfigEditor(id="text")
            yield Pager(id="review")

    def on_resize(self) -> None:
        self.set_class(self.size.width >= BROAD, "-broad")

    def action_history(self) -> None:
        if self.connector is not None:
            self.post_message(OpenConfigHistory(self.connector.name))

    # Reading

    @property
    def editor(self) -> ConfigEditor:
        return self.query_one(ConfigEditor)

    @property
    def subject(self) -> str:
        return self.editor.text

    @property
    def is_editing(self) -> bool:
        return self.has_class("-editing")

    @property
    def reading(self) -> ConfigKeys:
        return self.query_one(ConfigKeys)

    @property
    def hidden(self) -> frozenset[str]:
        """Keys whose values are never shown: all of a plugin until its definitions have been read."""
        return frozenset() if self.connector is None else self.services.password_keys.hidden(self.connector.config)

    def hidden_in(self, draft: ConfigDraft) -> frozenset[str]:
        """The same for a draft, which may name further plugins."""
        keys = self.services.password_keys
        return self.hidden | keys.hidden(draft.base) | keys.hidden(draft.to_validate())

    @property
    def _knows_passwords(self) -> bool:
        return self.connector is not None and self.services.password_keys.has_read(self.connector.config)

    def take_focus(self) -> None:
        (self.editor if self.is_editing else self.reading.grid).focus()

    def reset(self) -> None:
        self.reading.keys = {}
        self.remove_class("-editing")
        self.set_banner(None)

    def deleted(self) -> None:
        """The edited text is kept for the next connector of the name."""
        if self.is_editing:
            self.set_banner(None)
        else:
            super().deleted()

    def fetch(self) -> None:
        connector = self.connector
        if connector is None or connector.name in self._reading or (self.reading.keys and self._knows_passwords):
            return
        self._reading.add(connector.name)
        self.services.do(self._read_keys(connector))

    def recovered(self) -> None:
        super().recovered()
        if self.is_editing:
            self.validator.retry()
            self.check()

    async def _read_keys_and_edit(self, connector: Connector, key: str) -> None:
        await self._read_keys(connector)
        if connector.name == self.name_shown:
            self.edit(key)

    async def _read_keys(self, connector: Connector) -> None:
        keys, _ = await gather(self.services.keys_of(connector.cls), self._read_passwords(connector))
        self._reading.discard(connector.name)
        if connector.name == self.name_shown:
            self.reading.keys = keys
            self._tell_whether_read()
            self._put()

    async def _read_passwords(self, connector: Connector) -> None:
        self._asked_for[connector.name] = None
        with suppress(HeadraceError):  # the values remain masked
            await self.services.password_keys.of(connector.config)
            self._asked_for[connector.name] = connector.config

    def _tell_whether_read(self) -> None:
        if not self._knows_passwords:
            self.report(NOT_READ, "warn")
        elif self._status_text == NOT_READ:
            self.clear_report()

    def draw(self) -> None:
        connector = self.connector
        if (
            connector is not None
            and not self._knows_passwords
            and self._asked_for.get(connector.name) != connector.config
        ):
            self._fetch_soon()  # for example, a plugin was added while the page is open
        self._put()

    def _put(self) -> None:
        if self.connector is not None and not self.is_editing:
            self.reading.put(self.connector.config, self.hidden, self._knows_passwords)

    def on_grid_opened(self, event: Grid.Opened) -> None:
        event.stop()
        self.edit(event.key)

    def action_all(self) -> None:
        self.reading.shows_all = not self.reading.shows_all
        self.draw()

    def action_copy(self) -> None:
        if self.connector is not None:
            copy(self, draft.of(self.name_shown, self.connector.config, self.hidden).text, "config, secrets masked")

    def action_edit(self) -> None:
        self.edit(self.reading.grid.current or "")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return not self.is_editing or action not in ("edit", "all", "copy")

    # Editing

    def edit(self, key: str = "") -> None:
        """Opens the editor at a key, with the kept text if there is one."""
        if self.connector is None:
            return
        knows_all = self.reading.keys and self._knows_passwords
        if not knows_all and self.connector.name not in self._asked_for:
            # passwords must be known before the text is shown
            self.services.do(self._read_keys_and_edit(self.connector, key))
            return
        if self.name_shown in self._applying:
            self.open(self.drafts[self.name_shown], key)
            self.editor.read_only = True
            self.report(BEING_APPLIED)
            return
        kept, origin = self.drafts.get(self.name_shown), ""
        if kept is None and (left := self.services.text_left_behind(CONFIG, self.name_shown)) is not None:
            kept = draft.restored(self.name_shown, left.fields, self.hidden)
            origin = f" of {clock_time(left.time, time.time())}"
        if kept is None or not kept.is_touched:
            kept = draft.of(self.name_shown, self.connector.config, self.hidden)
        else:
            moved = kept.base != self.connector.config
            if moved and not kept.review().read.problems:
                kept = kept.rebased(self.connector.config, self.hidden)
            since = ", compared with the current config" if moved else ""
            self.report(f"restored your text{origin}{since}; F5 starts over")
        self.validator.forget()
        self.open(kept, key)

    def open(self, draft: ConfigDraft, key: str = "", undoable: bool = False) -> None:
        """`undoable`: one undo brings the text back that is in the editor."""
        self.drafts[self.name_shown] = draft
        self.set_banner(None)
        self.add_class("-editing")
        self._load(draft, undoable)
        self.editor.focus()
        if (place := draft.review().read.places.get(key)) is not None:
            end = len(self.editor.document.get_line(place.line - 1).rstrip(","))
            self.editor.move_cursor((place.line - 1, max(0, end - (self.editor.form is ConfigFormat.JSON))))
        self.call_after_refresh(self._scroll_to_cursor)
        self.check()
        self.refresh_bindings()

    def _scroll_to_cursor(self) -> None:
        """Scrolls the cursor's line to the middle."""
        line = self.editor.cursor_location[0]
        self.editor.scroll_to(y=max(0, line - self.editor.size.height // 2), animate=False)

    def _load(self, draft: ConfigDraft, undoable: bool = False) -> None:
        self.editor.read_only = False
        self.editor.form = draft.form
        (self.editor.replace_text if undoable else self.editor.load_text)(draft.text)

    def refresh_bindings(self) -> None:
        self.screen.refresh_bindings()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self.is_editing and self.name_shown in self.drafts:
            self.drafts[self.name_shown] = self.drafts[self.name_shown].typed(self.editor.text)
            self._check_soon()

    def on_text_area_selection_changed(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        self._check_soon()

    def _check_soon(self) -> None:
        """Checks the text after a pause, so that the check does not delay further keys."""
        if self._checking is not None:
            self._checking.stop()
        self._checking = self.set_timer(REVIEW_DELAY, self.check)

    def check(self) -> None:
        """Reviews the text at once; the worker validates it when nothing has been typed for a moment."""
        self.review()
        draft = self.drafts.get(self.name_shown)
        if draft is None or not self.is_editing:
            return
        if not draft.review().read.problems and self.validator.want(draft.to_validate()):
            self.set_timer(VALIDATE_DELAY, lambda: self._validate(draft))

    def _validate(self, draft: ConfigDraft) -> None:
        if self.is_editing and self.drafts.get(self.name_shown) is draft:
            self.services.do(self._ask_worker(draft))

    async def _ask_worker(self, draft: ConfigDraft) -> None:
        """Validates the newest text, and reads the definitions of the plugins that this one names."""
        with suppress(HeadraceError):  # values of the plugins whose definitions are missing are hidden
            await self.services.password_keys.of(draft.to_validate())
        await self.validator.ask()

    def review(self) -> None:
        """Marks problems in their lines; shows the difference and the documentation of the key under the cursor."""
        draft = self.drafts.get(self.name_shown)
        if draft is None or not self.is_editing:
            return
        self.services.keep_text(CONFIG, self.name_shown, draft.fields if draft.is_touched else None)
        review = draft.review(self.validator.validation)
        if self.validator.settled and not review.errors and not review.read.problems:
            self.clear_warning()
        self.editor.mark_all(review.problems)
        text = words.review(review, self.hidden_in(draft), not self.validator.settled, self.validator.trouble)
        line = self.editor.cursor_location[0] + 1
        here = next((key for key, place in review.read.places.items() if place.line == line), "")
        if here:
            key = (self.validator.validation.keys if self.validator.validation else self.reading.keys).get(here)
            text = Content.assemble(text, "\n\n", words.documentation(here, key))
        self.query_one("#review", Pager).put(text)

    def on_command_editor_command(self, event: ConfigEditor.Command) -> None:
        event.stop()
        if event.action == "leave":
            self.leave()
        elif self.editor.read_only:
            self.report(BEING_APPLIED)
        elif event.action == "apply":
            self.apply()
        elif event.action == "convert":
            self.convert()
        elif self.connector is not None:
            self.start_over(self.connector)

    def start_over(self, connector: Connector) -> None:
        """Replaces the text by the current config; one undo brings it back."""
        touched = self.drafts[connector.name].is_touched
        self._discard(connector.name)
        self.open(draft.of(connector.name, connector.config, self.hidden, self.editor.form), undoable=True)
        self.report(DISCARDED if touched else "")

    def convert(self) -> None:
        draft = self.drafts[self.name_shown]
        converted = draft.converted()
        if converted is None:
            line = next((problem.place.line for problem in draft.review().read.problems), 1)
            self.report(f"not converted: fix line {line} first", "warn")
        else:
            self.open(converted)

    def leave(self) -> None:
        touched = (draft := self.drafts.get(self.name_shown)) is not None and draft.is_touched
        if touched:
            self.report("the text is kept; e continues editing")
        elif self._status_text == DISCARDED:
            self.clear_report()  # the next editor cannot undo it
        self.remove_class("-editing")
        self.draw()
        self.reading.grid.focus()
        self.refresh_bindings()

    # Applying

    def apply(self) -> None:
        if self.connector is not None:
            self.services.do(self.controller.apply(self.drafts[self.name_shown], self.connector))

    def go_to(self, place: TextPosition) -> None:
        """Moves the cursor to an error."""
        self.editor.go_to(place)

    def _discard(self, name: str) -> None:
        self.drafts.pop(name, None)
        self.services.keep_text(CONFIG, name, None)

    def applying(self, name: str) -> None:
        self._applying.add(name)
        if name == self.name_shown:
            self.editor.read_only = True

    def applied(self, name: str, text: Content) -> None:
        self._applying.discard(name)
        self._discard(name)
        if name == self.name_shown:
            self.remove_class("-editing")
            self.set_banner(text)
            self.draw()
            self.reading.grid.focus()
            self.refresh_bindings()

    def refused(self, name: str, text: Content) -> None:
        """Shows the reason and keeps the text."""
        self._applying.discard(name)
        if name == self.name_shown and self.is_editing:
            self._load(self.drafts[name], undoable=True)
            self.set_banner(text, "-refused")
            self.check()

    def set_banner(self, content: Content | None, kind: str = "") -> None:
        self.query_one(Banner).show(content, kind)

    @property
    def has_unsaved(self) -> list[str]:
        """Names of connectors whose texts would be lost."""
        return [name for name, draft in self.drafts.items() if draft.is_touched]

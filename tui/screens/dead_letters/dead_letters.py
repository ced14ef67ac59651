"""The dead letters of a sink: newest first, with errors and contents; export and replay.

Sinks can share a dead letter topic: letters of other connectors are shown only on request.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from tui import private_file
from tui.dead_letters.brokers import DeadLetterTopic, DeadLetterWindow, SendResult
from tui.dead_letters.letters import TOPIC, DeadLetter, exported, original_topic
from tui.errors import HeadraceError, error_line
from tui.formatting import counted, one_line
from tui.model import Connector
from tui.screens.base.dialog import Dialog
from tui.screens.base.program import copy
from tui.screens.base.split_page import SplitPage
from tui.screens.dead_letters import dead_letter_text as words
from tui.screens.dead_letters.letter_editor import LetterEditor, why_not_editable
from tui.screens.services.cluster_services import ClusterServices
from tui.topics.byte_views import ByteView, best_view, next_view, shown
from tui.widgets.grid import Cell, Grid
from tui.widgets.text import visible

BATCH = 200  # letters read at once from each partition

OpenTopic = Callable[[str, Mapping[str, Any]], DeadLetterTopic]
"""Opens a dead letter topic by name, with the Kafka client's settings."""


class DeadLettersScreen(SplitPage):
    """Shows a bounded part of the topic. Marks are kept when older letters are loaded. A replay that was started
    continues if the page is left."""

    COLUMNS = words.COLUMNS
    BROAD = 120
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "mark", "mark"),
        Binding("asterisk", "mark_all", "mark all", key_display="*", show=False),
        Binding("R", "replay", "replay", tooltip="send the marked records to their original topics again"),
        Binding("e", "edit", "edit", tooltip="edit the value that a replay sends; the dead letter is not changed"),
        Binding("a", "of_all", "all connectors", tooltip="also the dead letters of other connectors in the topic"),
        Binding("b", "by_error", "by error", tooltip="group the records by error; Enter shows those of a group"),
        Binding("x", "export", "export", tooltip="write the marked records, or all, to a file of JSON lines"),
        Binding("v", "view", "JSON/text/hex"),
        Binding("m", "older", "older"),
        Binding("y", "copy", "copy value", show=False),
        Binding("tab,shift+tab", "switch", "letters or text", show=False),
        Binding("f5,ctrl+l", "reload", "read again", key_display="F5"),
    ]

    CHANGES: ClassVar[tuple[str, ...]] = ("replay", "edit")

    def __init__(
        self, services: ClusterServices, connector: Connector, open_topic: OpenTopic = DeadLetterTopic
    ) -> None:
        super().__init__(services)
        self.connector, self._open_topic = connector, open_topic
        self.topic = open_topic(connector.config.get(TOPIC, "").strip(), {})
        self.window: DeadLetterWindow | None = None
        self.letters: dict[str, DeadLetter] = {}
        self.marked: set[str] = set()
        self.sent: dict[str, SendResult] = {}
        self.view: ByteView | None = None  # None: chosen for each value
        self.edited: dict[str, bytes] = {}  # values for a replay, by letter
        self.is_grouped = False
        self.is_of_all = False  # whether letters of other connectors are shown
        self.only = ""  # the kind of error to which the list is limited
        self._busy = False

    def on_mount(self) -> None:
        self.grid.empty = "reading from the brokers…"
        self.grid.focus()
        self.draw()
        self.read()

    def on_resize(self) -> None:
        self.call_after_refresh(self.show_current)

    # Reading

    def read(self, before: Mapping[int, int] | None = None) -> None:
        if not self._busy:
            self._busy = True
            self.run_worker(self._read(before), exit_on_error=False)

    async def _read(self, before: Mapping[int, int] | None) -> None:
        self.report("reading from the brokers", "busy")
        try:
            settings = await self.services.kafka()
            self.topic = self._open_topic(self.topic.topic, settings)
            window = await asyncio.to_thread(self.topic.newest, BATCH, before)
        except HeadraceError as error:
            self.grid.empty = one_line(error.message)
            self.report(error_line(error), "bad")
        else:
            was_newest = bool(self.grid.keys) and self.grid.current == self.grid.keys[0]
            self.window = window
            self.letters = {**(self.letters if before else {}), **{letter.id: letter for letter in window.letters}}
            unmarked = len(self.marked - self.letters.keys())
            self.marked &= self.letters.keys()  # those that are listed
            gone = (
                f"{counted(unmarked, 'mark')} removed: older dead letters are not loaded any more" if unmarked else ""
            )
            self.report(gone or self._what_is_missing(), "warn" if gone else "info")
            self.grid.empty = self._what_is_missing() or "no dead letters"
            if was_newest and not before:  # the cursor stays on the newest letter
                self.grid.cursor = None
        finally:
            self._busy = False
        self.draw()

    def _what_is_missing(self) -> str:
        if not self.letters:
            return "the topic is empty: there are no dead letters"
        if self.is_of_all or not (others := self._others):
            return ""
        return f"{len(others):,} of other connectors are not shown: a shows them"

    def action_reload(self) -> None:
        self.read()

    def action_older(self) -> None:
        if self.window is not None:
            self.read(self.window.starts)

    # Display

    @property
    def groups(self) -> dict[str, list[DeadLetter]]:
        """The letters by kind of error, the most frequent first."""
        letterses: dict[str, list[DeadLetter]] = {}
        for letter in self._of_connectors.values():
            letterses.setdefault(letter.kind_of_error, []).append(letter)
        return dict(sorted(letterses.items(), key=lambda item: -len(item[1])))

    @property
    def current(self) -> DeadLetter | None:
        """The letter under the cursor, or the newest one of the group under the cursor."""
        key = self.grid.current or ""
        return next(iter(self.groups.get(key, ())), None) if self.is_grouped else self.letters.get(key)

    @property
    def _others(self) -> list[DeadLetter]:
        """The letters of other connectors that were read."""
        return [letter for letter in self.letters.values() if not letter.may_be_of(self.connector.name)]

    @property
    def _of_connectors(self) -> dict[str, DeadLetter]:
        """The letters of this connector, or of all if they were requested."""
        name = self.connector.name
        return {key: letter for key, letter in self.letters.items() if self.is_of_all or letter.may_be_of(name)}

    @property
    def shown_letters(self) -> dict[str, DeadLetter]:
        kind, letters = self.only, self._of_connectors
        return {key: letter for key, letter in letters.items() if not kind or letter.kind_of_error == kind}

    @property
    def chosen(self) -> list[DeadLetter]:
        """The marked letters, or the letter under the cursor."""
        marked = [letter for key, letter in self._of_connectors.items() if key in self.marked]
        return marked or ([current] if (current := self.current) else [])

    def draw(self) -> None:
        keys = list(self.groups if self.is_grouped else self.shown_letters)
        texts = [self._cells(key) for key in keys]
        names = [column.key for column in self.grid.columns if column.grows]
        widths = {name: max((len(row[name].text) for row in texts), default=0) for name in names}
        self.grid.show(keys, self._cells, widths, follow=True)
        hidden = len(self.letters) - len(self._of_connectors)
        total = f"newest {len(self.letters):,} of {self.window.total:,}" if self.window else ""
        total += f", {hidden:,} hidden" if hidden else ""
        marked = f"{len(self.marked):,} marked  " if self.marked else ""
        self.head(("dead letters", "bold $accent"), f"  {visible(self.topic.topic)}", end=marked + total)
        self.show_current()
        self.refresh_bindings()

    def _cells(self, key: str) -> Mapping[str, Cell]:
        if self.is_grouped:
            group = self.groups[key]
            return words.group_cells(key, group, sum(letter.id in self.marked for letter in group))
        return words.cells(self.letters[key], key in self.marked, self.sent.get(key), key in self.edited)

    def show_current(self) -> None:
        letter = self.current
        pager = self.pager
        pager.put(self._explained(letter, pager.columns) if letter is not None else Content(""), top=True)

    def _explained(self, letter: DeadLetter, columns: int) -> Content:
        return words.explained(letter, self.topic.topic, self.view or best_view(letter.value), columns)

    def on_grid_opened(self, event: Grid.Opened) -> None:
        if self.is_grouped:
            event.stop()
            event.prevent_default()  # the list keeps the focus
            self.is_grouped, self.only = False, event.key
            self.draw()

    def action_by_error(self) -> None:
        """The groups of letters; from the letters of one group, back to the groups."""
        self.is_grouped, self.only = not self.is_grouped, ""
        self.draw()

    def action_of_all(self) -> None:
        """Shows or hides the letters of other connectors. Hidden ones lose their marks, so that no key acts on them."""
        self.is_of_all = not self.is_of_all
        self.marked &= self._of_connectors.keys()
        if self.only not in self.groups:
            self.only = ""
        self.grid.set_columns(words.OF_ALL_COLUMNS if self.is_of_all else words.COLUMNS)
        self.report(self._what_is_missing())
        self.draw()

    def action_back(self) -> None:
        if self.only:
            self.action_by_error()
        else:
            super().action_back()

    def action_edit(self) -> None:
        letter = self.current
        if letter is None or not self.services.may_change("replaying dead letters", self.report):
            return
        value = self.edited.get(letter.id, letter.value)
        if why := why_not_editable(value):
            self.report(why, "warn")
        else:
            self.run_worker(self._edit(letter, value or b""), exit_on_error=False)

    async def _edit(self, letter: DeadLetter, value: bytes) -> None:
        edited = await self.app.push_screen_wait(LetterEditor(f"value of {self.topic.topic} {letter.id}", value))
        if edited is not None:
            self.edited[letter.id] = edited
            self.report("R sends the edited value; the dead letter is not changed")
        self.draw()

    def action_view(self) -> None:
        if (letter := self.current) is not None:
            view = self.view or best_view(letter.value)
            self.view = next_view(tuple(ByteView), view, partial(shown, letter.value))
            self.show_current()

    def action_copy(self) -> None:
        if (letter := self.current) is not None:
            self.report(copy(self, shown(letter.value, self.view or best_view(letter.value)), "the value"))

    # Choosing and sending

    def allows(self, action: str) -> bool:
        if action == "of_all":
            return self.is_of_all or bool(self._others)
        if action == "edit":
            return bool(self._of_connectors) and not self.is_grouped
        if action in ("mark", "mark_all", "replay", "export", "view", "copy", "by_error"):
            return bool(self._of_connectors)
        if action == "older":
            return self.window is not None and self.window.has_older and not self._busy
        return True

    def action_mark(self) -> None:
        if self.is_grouped:
            group = {letter.id for letter in self.groups.get(self.grid.current or "", ())}
            self.marked = self.marked - group if group <= self.marked else self.marked | group
            self.draw()
        elif (letter := self.current) is not None:
            self.marked ^= {letter.id}
            self.grid.action_move(1)
            self.draw()

    def action_mark_all(self) -> None:
        shown = set(self.shown_letters)
        self.marked = self.marked - shown if shown <= self.marked else self.marked | shown
        self.draw()

    def action_replay(self) -> None:
        letters = self.chosen
        if letters and not self._busy and self.services.may_change("replaying dead letters", self.report):
            self.run_worker(self._ask(letters), exit_on_error=False)

    async def _ask(self, letters: list[DeadLetter]) -> None:
        instead = original_topic(self.connector.config)
        topics = sorted({letter.origin[0] if letter.origin else instead for letter in letters} - {""})
        if not topics:
            self.report("their headers do not name the original topic, and the sink reads several topics", "bad")
            return
        again = sum(letter.id in self.sent and not self.sent[letter.id].error for letter in letters)
        where = f" on {self.services.profile.label}" if self.services.profile.production else ""
        title = f"send {counted(len(letters), 'record')} to {', '.join(topics)} again{where}?"
        dialog = Dialog(
            f"{title} type {len(letters)} to continue",
            words.warning(
                letters,
                again,
                sum(letter.id in self.edited for letter in letters),
                self.connector.name,
                self._sharing(),
            ),
            "replay",
            name=str(len(letters)),
        )
        if not await self.app.push_screen_wait(dialog):
            self.report("cancelled: replay")
            return
        self._busy = True
        self.services.do(self._replay(letters, instead))

    async def _replay(self, letters: list[DeadLetter], instead: str) -> None:
        self.report(f"sending {counted(len(letters), 'record')}", "busy")
        try:
            sent = [letter._replace(value=self.edited.get(letter.id, letter.value)) for letter in letters]
            outcomes = await self.services.replayed(self.connector.name, self.topic, sent, instead)
        except HeadraceError as error:
            self.report(error_line(error), "bad")
            return
        finally:
            self._busy = False
        self.sent |= {result.letter.id: result for result in outcomes}
        failed = [result for result in outcomes if result.error]
        self.marked = {result.letter.id for result in failed}  # for another attempt
        if self.is_attached:
            self.draw()
        if failed:
            self.report(f"{len(failed)} of {len(outcomes)} were not sent and remain marked: {failed[0].error}", "bad")
        else:
            self.report(f"{counted(len(outcomes), 'record')} sent; they also remain in the dead letter topic", "good")

    def _sharing(self) -> list[str]:
        """The other connectors that write dead letters to this topic."""
        connectors = self.services.snapshot.connectors.values()
        sharing = {
            connector.name for connector in connectors if connector.config.get(TOPIC, "").strip() == self.topic.topic
        }
        return sorted(sharing - {self.connector.name})

    def action_export(self) -> None:
        letters = self.chosen if self.marked else list(self.shown_letters.values())
        file = Path.cwd() / f"{_safe(self.topic.topic)}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"
        try:
            private_file.write(file, "".join(exported(self.topic.topic, letter) + "\n" for letter in letters))
        except OSError as error:
            self.report(f"cannot write {file}: {error.strerror}", "bad")
        else:
            self.report(f"{counted(len(letters), 'record')} written to {file}", "good")


def _safe(topic: str) -> str:
    return "".join(char if char.isalnum() or char in "._-" else "_" for char in topic)


def why_none(connector: Connector) -> str:
    """The reason why the connector has no dead letters; empty if it has a dead letter topic."""
    if connector.type != "sink":
        return f"{connector.name} is not a sink: only sinks have dead letters"
    if not connector.config.get(TOPIC, "").strip():
        return f"{connector.name} has no dead letter topic: {TOPIC} is not set"
    return ""

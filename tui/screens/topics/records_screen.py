"""The records of a topic: pages in both directions, a search, jumps to offsets and times."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content

from tui import private_file
from tui.contexts.secrets import resolved
from tui.errors import HeadraceError, UsageError, error_line
from tui.formatting import counted, one_line
from tui.model import Connector
from tui.offsets.positions import EXAMPLES, AbsolutePosition, EdgePosition
from tui.screens.base.program import copy
from tui.screens.base.split_page import SplitPage
from tui.screens.services.cluster_services import ClusterServices
from tui.screens.topics import record_text as words
from tui.screens.topics.compare_screen import CompareScreen
from tui.topics import exact_json, position
from tui.topics.byte_views import ByteView
from tui.topics.decoding import DecodedRecord, RecordDecoder, decoder
from tui.topics.page_scan import ReadLimits
from tui.topics.position import RecordPosition
from tui.topics.reader import TopicReader
from tui.topics.records import RecordPage, TopicRecord
from tui.widgets.grid import Cell, Grid
from tui.widgets.prompt import Prompt
from tui.widgets.text import visible

PAGE = 200  # records read at once
MOST = 1_000  # records kept; those farthest from the last page read are dropped
MOST_BYTES = 32 * 1024 * 1024  # of records kept

OpenReader = Callable[[Mapping[str, Any]], TopicReader]
SetOffset = Callable[[TopicRecord], None]


class RecordsSource(NamedTuple):
    """The records to show: a topic, the connector whose converters decode them, and the first position."""

    topic: str
    connector: Connector | None = None
    at: RecordPosition = RecordPosition(EdgePosition(True))


class RecordsScreen(SplitPage):
    """Shows a bounded window of the topic, oldest record first; moving beyond its edges reads on."""

    DEFAULT_CSS = """
    RecordsScreen #list { height: 3fr; }
    RecordsScreen #text { height: 2fr; }
    RecordsScreen.-broad #list { width: 3fr; height: 1fr; }
    RecordsScreen.-broad #text { width: 2fr; height: 1fr; }
    """
    COLUMNS = words.COLUMNS
    BROAD = 120
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "left_square_bracket",
            "older",
            "older",
            key_display="[",
            tooltip="read older records; also ↑ on the first",
        ),
        Binding(
            "right_square_bracket",
            "newer",
            "newer",
            key_display="]",
            tooltip="read newer records; also ↓ on the last",
        ),
        Binding("at,a", "go", "go to", key_display="@", tooltip="go to a time, an offset, earliest or latest"),
        Binding(
            "slash", "search", "search", key_display="/", tooltip="records whose key, value or headers contain a text"
        ),
        Binding("space", "mark", "mark", tooltip="mark this record, to compare another one with it"),
        Binding(
            "equals_sign",
            "compare",
            "compare",
            key_display="=",
            tooltip="compare with the marked record, or with the one before it that has the same key",
        ),
        Binding("e", "set_offset", "set offset here", tooltip="set the sink's offset to this record, after a review"),
        Binding("v", "view", "decoded/text/hex"),
        Binding("p", "partition", "partition", tooltip="all partitions, or one after another"),
        Binding("y", "copy", "copy value", show=False),
        Binding("Y", "copy_record", "copy record as JSON", show=False),
        Binding("x", "export", "export", show=False, tooltip="write the records shown to a file of JSON lines"),
        Binding("tab,shift+tab", "switch", "records or text", show=False),
        Binding("f5,ctrl+l", "reload", "newest", key_display="F5", tooltip="the newest records"),
    ]

    CHANGES: ClassVar[tuple[str, ...]] = ("set_offset",)

    def __init__(
        self, services: ClusterServices, source: RecordsSource, set_offset: SetOffset | None = None,
        open_reader: OpenReader = TopicReader,
    ) -> None:  # fmt: skip
        """`set_offset` opens the offset editor of the sink; None if no sink reads the topic."""
        super().__init__(services)
        self.source, self.set_offset, self._open_reader = source, set_offset, open_reader
        self.page: RecordPage | None = None
        self.records: dict[str, DecodedRecord] = {}
        self.partition = source.at.partition
        self.text = ""  # the search
        self.view: ByteView | None = None
        self.marked: DecodedRecord | None = None  # also if it has left the window
        self._typed = ""  # the search while it is typed
        self._decoder = RecordDecoder()
        self._reader: TopicReader | None = None
        self._busy = False

    def on_mount(self) -> None:
        self.grid.empty = "reading from the brokers…"
        self.grid.marks = ()
        self.grid.focus()
        self.draw()
        self.go(self.source.at)

    def on_unmount(self) -> None:
        if self._reader is not None:
            reader, self._reader = self._reader, None
            self.app.run_worker(asyncio.to_thread(reader.close), exit_on_error=False)

    def on_resize(self) -> None:
        self.call_after_refresh(self._record)

    # Reading

    def go(self, at: RecordPosition) -> None:
        """Shows the records at a position instead of the current ones."""
        partition = self.partition if at.partition is None else at.partition

        def read(reader: TopicReader) -> RecordPage:
            match at.position:
                case AbsolutePosition(offset=offset) if partition is not None and not self.text:
                    return position.around(reader, self.source.topic, partition, offset, ReadLimits(PAGE))
            wanted = RecordPosition(at.position, partition)
            return position.page_at(reader, self.source.topic, wanted, ReadLimits(PAGE), self._matches)

        def shown(page: RecordPage) -> str:
            self.page = page
            self.partition = next(iter(page.starts)) if len(page.starts) == 1 and len(page.latest) == 1 else partition
            return _first(page, at)

        self._start(read, shown)

    def _extend(self, is_older: bool) -> None:
        page = self.page
        if page is None:
            return

        def read(reader: TopicReader) -> RecordPage:
            if is_older:
                return reader.older(self.source.topic, ReadLimits(PAGE), page.starts, self._matches, self.partition)
            return reader.newer(self.source.topic, ReadLimits(PAGE), page.ends, self._matches, self.partition)

        def shown(other: RecordPage) -> str:
            joined = page.joined(other, MOST)
            is_large = sum(record.size for record in joined.records) > MOST_BYTES
            self.page = other if is_large and other.records else joined
            return "" if other.records else self.grid.current or ""

        self._start(read, shown)

    def _start(self, read: Callable[[TopicReader], RecordPage], shown: Callable[[RecordPage], str]) -> None:
        if not self._busy:
            self._busy = True
            self.run_worker(self._read(read, shown), exit_on_error=False)

    async def _read(self, read: Callable[[TopicReader], RecordPage], shown: Callable[[RecordPage], str]) -> None:
        """`shown` takes the page and returns the id of the record for the cursor, empty to leave it."""
        with self._reporting():
            reader = await self._opened()
            page = await asyncio.to_thread(read, reader)
            goal = shown(page)
            assert self.page is not None
            records, known = self.page.records, self.records
            self.records = await asyncio.to_thread(
                lambda: {record.id: known.get(record.id) or self._decoder.decoded(record) for record in records}
            )
            self.report(self._searched(page), "warn" if page.is_cut else "info")
            self.draw()
            if goal:
                self.grid.go(goal)
        self.draw()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        self.report("reading from the brokers", "busy")
        try:
            yield
        except HeadraceError as error:
            if not self.records:
                self.grid.empty = one_line(error.message)
            self.report(error_line(error), "bad")
        else:
            self.grid.empty = "no record contains this text" if self.text else "no records"
        finally:
            self._busy = False

    def _searched(self, page: RecordPage) -> str:
        if not self.text:
            return ""
        matches = f"{counted(len(page.records), 'record')} of {page.scanned:,} contain {self.text!r}"
        return matches + ("; [ and ] continue the search" if page.is_cut else "")

    async def _opened(self) -> TopicReader:
        if self._reader is None:
            settings, profile = await self.services.kafka(), self.services.profile
            connector = self.source.connector
            registry = await asyncio.to_thread(resolved, profile.registry)
            self._decoder = decoder(connector.config if connector else {}, registry)
            self._reader = self._open_reader(settings)
        return self._reader

    @property
    def _matches(self) -> Callable[[TopicRecord], bool] | None:
        text, decode = self.text, self._decoder
        return None if not text else lambda record: decode.decoded(record).contains(text)

    def action_older(self) -> None:
        self._extend(True)

    def action_newer(self) -> None:
        self._extend(False)

    def action_reload(self) -> None:
        self.go(RecordPosition(EdgePosition(True)))

    def action_partition(self) -> None:
        """The next partition, then all of them; stays at the time of the record under the cursor."""
        assert self.page is not None
        numbers = range(max(self.page.latest) + 1) if self.partition is None else None
        if numbers is not None:
            self.partition = 0
            self.go(RecordPosition(EdgePosition(True), 0))
        else:
            self.run_worker(self._next_partition(), exit_on_error=False)

    async def _next_partition(self) -> None:
        reader = self._reader
        assert reader is not None
        with self._reporting():
            numbers = await asyncio.to_thread(lambda: sorted(reader.bounds(self.source.topic)[0]))
            if len(numbers) == 1:
                self.report("the topic has one partition")
                return
            following = [number for number in numbers if number > (self.partition or 0)]
            self.partition = following[0] if following else None
        self.go(RecordPosition(EdgePosition(True), self.partition))

    # Display

    @property
    def current(self) -> DecodedRecord | None:
        return self.records.get(self.grid.current or "")

    @property
    def shown_keys(self) -> list[str]:
        text = self._typed
        return [key for key, decoded in self.records.items() if not text or decoded.contains(text)]

    def draw(self) -> None:
        if self.records:
            self.grid.empty = "no record shown here contains this text; enter searches the topic"
        self.grid.show(self.shown_keys, self._cells, words.widths(list(self.records.values())), follow=True)
        where = "all partitions" if self.partition is None else f"partition {self.partition}"
        total = f"{len(self.records):,} of about {self.page.total:,}, " if self.page else ""
        how = f", {self._decoder.name}" if self._decoder.name else ""
        search = f"  /{visible(self.text)}" if self.text else ""
        self.head(("records", "bold $accent"), f"  {visible(self.source.topic)}{search}", end=f"{total}{where}{how}")
        self._record()
        self.refresh_bindings()

    def _cells(self, key: str) -> Mapping[str, Cell]:
        return words.cells(self.records[key])

    def show_current(self) -> None:
        self._record(top=True)

    def _record(self, top: bool = False) -> None:
        decoded = self.current
        pager = self.pager
        pager.put(words.explained(decoded, self.view, pager.columns) if decoded is not None else Content(""), top=top)

    def on_grid_beyond(self, event: Grid.Beyond) -> None:
        event.stop()
        if self.page is not None and (self.page.has_older if event.step < 0 else self.page.has_newer):
            self._extend(event.step < 0)

    def action_view(self) -> None:
        if (decoded := self.current) is not None:
            self.view = words.next_view(decoded, self.view)
            self._record()

    # The prompt

    def action_go(self) -> None:
        self.open_prompt(
            "@", "", lambda text: [example for example in EXAMPLES if example.startswith(text) and example[0] != "+"]
        )
        self.report(f"go to {position.EXPECTED}")

    def action_search(self) -> None:
        self.open_prompt("/", self.text, lambda text: [])

    def on_prompt_typed(self, event: Prompt.Typed) -> None:
        event.stop()
        if event.sign == "/" and self.prompt.is_open:
            self._typed = event.text.strip()
            self.draw()

    def on_prompt_left(self, event: Prompt.Left) -> None:
        event.stop()
        self._typed = ""
        self.report("")
        self.grid.focus()
        self.draw()

    def submitted(self, sign: str, text: str) -> None:
        self._typed = ""
        self.grid.focus()
        if sign == "/":
            self._search(text)
        elif text:
            try:
                self.go(position.parse(text))
            except UsageError as error:
                self.report(error_line(error), "bad")
        self.refresh_bindings()

    def _search(self, text: str) -> None:
        """Searches backwards from the end of the window; an empty text shows all records again."""
        if text == self.text:
            self.draw()
            return
        self.text = text
        page = self.page
        if page is None:
            return

        def read(reader: TopicReader) -> RecordPage:
            limits = ReadLimits(PAGE)
            return reader.older(self.source.topic, limits, page.ends, self._matches, self.partition)

        def shown(page: RecordPage) -> str:
            self.page = page
            return page.records[-1].id if page.records else ""

        self._start(read, shown)

    # Actions on records

    def allows(self, action: str) -> bool:
        if action in ("mark", "compare"):
            return self.current is not None
        if action in ("view", "copy", "copy_record", "export"):
            return bool(self.records)
        if action == "set_offset":
            return self.set_offset is not None and self.current is not None
        if action in ("older", "newer", "search", "partition"):
            return self.page is not None and not (action == "older" and not self.page.has_older)
        return True

    def action_mark(self) -> None:
        """Marks the record under the cursor instead of another one; removes its mark if it has one."""
        decoded = self.current
        if decoded is None:
            return
        is_marked = self.marked is not None and self.marked.record.id == decoded.record.id
        self.marked = None if is_marked else decoded
        self.grid.marks = () if is_marked else (decoded.record.id,)
        self.grid.refresh_changed()
        self.report("" if is_marked else f"marked {decoded.record.place}; = compares another record with it")

    def action_compare(self) -> None:
        decoded = self.current
        if decoded is None:
            return
        marked = self.marked
        if marked is None or marked.record.id == decoded.record.id:
            marked = self._previous(decoded)
        if marked is None:
            self.report("no earlier record with this key is shown; space marks the record to compare with", "warn")
        else:
            self.app.push_screen(CompareScreen(self.services, marked, decoded))

    def _previous(self, decoded: DecodedRecord) -> DecodedRecord | None:
        """The last of the records before this one, as listed, that have its key."""
        before = list(self.records.values())
        place = next((n for n, each in enumerate(before) if each.record.id == decoded.record.id), 0)
        same = [each for each in before[:place] if each.record.key == decoded.record.key]
        return same[-1] if same else None

    def action_set_offset(self) -> None:
        decoded, act = self.current, self.set_offset
        if decoded is not None and act is not None and self.services.may_change("altering offsets", self.report):
            act(decoded.record)

    def action_copy(self) -> None:
        if (decoded := self.current) is not None:
            self.report(copy(self, words.copied(decoded, self.view), "the value"))

    def action_copy_record(self) -> None:
        if (decoded := self.current) is not None:
            self.report(copy(self, exact_json.dumps(decoded.as_json(), ensure_ascii=False), "the record"))

    def action_export(self) -> None:
        safe = "".join(char if char.isalnum() or char in "._-" else "_" for char in self.source.topic)
        file = Path.cwd() / f"{safe}-{time.strftime('%Y%m%d-%H%M%S')}.jsonl"
        lines = [exact_json.dumps(self.records[key].as_json(), ensure_ascii=False) + "\n" for key in self.shown_keys]
        try:
            private_file.write(file, "".join(lines))
        except OSError as error:
            self.report(f"cannot write {file}: {error.strerror}", "bad")
        else:
            self.report(f"{counted(len(lines), 'record')} written to {file}", "good")


def _first(page: RecordPage, at: RecordPosition) -> str:
    """The id of the record for the cursor: the first at the position, the last of the newest records."""
    if not page.records:
        return ""
    if isinstance(at.position, AbsolutePosition):
        offset = at.position.offset
        return next((record.id for record in page.records if record.offset >= offset), page.records[-1].id)
    is_newest = isinstance(at.position, EdgePosition) and at.position.end
    return (page.records[-1] if is_newest else page.records[0]).id

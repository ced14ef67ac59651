"""The records on which a failed sink stands: those from its committed offsets on, and skipping the one at fault."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from shlex import quote
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from tui.causes import cause_line
from tui.commands.offsets import failing_record
from tui.contexts.secrets import resolved
from tui.errors import HeadraceError, error_line
from tui.formatting import counted, one_line
from tui.model import Connector, Offset, offsets
from tui.screens.base.dialog import Dialog
from tui.screens.base.program import copy
from tui.screens.base.split_page import SplitPage
from tui.screens.services.cluster_services import ClusterServices
from tui.screens.services.operations import Operation
from tui.screens.topics import record_text as words
from tui.topics.byte_views import ByteView
from tui.topics.decoding import DecodedRecord
from tui.topics.failing_records import FailingPartition
from tui.widgets.columns import Column
from tui.widgets.grid import Cell
from tui.widgets.text import visible

COLUMNS = (
    Column("mark", "", 1),
    Column("topic", "TOPIC", 10, grows=True, shrinks=True),
    Column("partition", "PART", 4, right=True),
    Column("offset", "OFFSET", 9, right=True, grows=True),
    Column("key", "KEY", 8, rank=1, grows=True),
    Column("value", "VALUE", 20, grows=True),
)
AFTER = 20  # records listed behind the first one, or behind the one at fault
MAX_QUESTION = 8  # records listed in the question


class FailingScreen(SplitPage):
    """Lists the records of each partition with lag; the cursor starts on the record at fault. Skipping continues if the
    page is left."""

    COLUMNS = COLUMNS
    BROAD = 120
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "x",
            "skip",
            "skip to here",
            tooltip="skip this record and those of its partition before it; they are saved to a file first",
        ),
        Binding("v", "view", "decoded/text/hex"),
        Binding("y", "copy", "copy value"),
        Binding("tab,shift+tab", "switch", "records or text", show=False),
        Binding("f5,ctrl+l", "reload", "read again", key_display="F5"),
    ]
    CHANGES: ClassVar[tuple[str, ...]] = ("skip",)

    def __init__(self, services: ClusterServices, connector: Connector) -> None:
        super().__init__(services)
        self.name_shown = connector.name
        self.partitions: list[FailingPartition] = []
        self.base: tuple[Offset, ...] = ()
        self.view: ByteView | None = None
        self.operation: Operation | None = None  # the last skip
        self._rows: dict[str, tuple[FailingPartition, DecodedRecord]] = {}
        self._busy = False
        self._first = ""  # the record on which the cursor was placed
        self._state = connector.overall

    def on_mount(self) -> None:
        self.grid.empty = "reading from the brokers…"
        self.grid.focus()
        self.draw()
        self.action_reload()
        self.set_interval(0.5, self._follow)

    @property
    def connector(self) -> Connector | None:
        return self.services.snapshot.connectors.get(self.name_shown)

    def _follow(self) -> None:
        """Shows the state of the skip, and reads the records again when the sink fails again or has been stopped."""
        if self.operation is not None and not self._busy:
            kind = "bad" if self.operation.phase.is_bad else "busy" if self.operation.phase.is_open else "good"
            self.report(f"{self.operation.title}: {self.operation.last}", kind)
        state = connector.overall if (connector := self.connector) is not None else ""
        if state != self._state:
            self._state = state
            self.action_reload()

    # Reading

    def action_reload(self) -> None:
        if not self._busy:
            self._busy = True
            self.run_worker(self._read(), exit_on_error=False)

    async def _read(self) -> None:
        try:
            self.base, self.partitions = await self._found()
            self.grid.empty = "no record waits: the sink has no lag"
        except HeadraceError as error:
            self.partitions = []
            self.grid.empty = one_line(error.message)
            if self.operation is None:
                self.report(error_line(error), "warn")
        finally:
            self._busy = False
        self._rows = {key: row for each in self.partitions for key, row in _rows(each)}
        self.draw()
        first = _key(self.partitions[0].shown) if self.partitions else ""
        if first != self._first:  # another record is at fault
            self._first = first
            self.grid.go(first)

    async def _found(self) -> tuple[tuple[Offset, ...], list[FailingPartition]]:
        connector = self.connector
        if connector is None:
            raise HeadraceError(f"{self.name_shown} does not exist any more")
        if why := failing_record.why_none(connector):
            raise HeadraceError(why)
        settings = await self.services.kafka()
        base = offsets(await self.services.connect.offsets(self.name_shown))
        reported = await failing_record.reported(self.services.connect, self.name_shown)
        registry = await asyncio.to_thread(resolved, self.services.profile.registry)
        return base, await failing_record.partitions_of(connector, base, reported, settings, registry)

    # Display

    @property
    def current(self) -> tuple[FailingPartition, DecodedRecord] | None:
        return self._rows.get(self.grid.current or "")

    def draw(self) -> None:
        records = [decoded for _, decoded in self._rows.values()]
        widths = words.widths(records) | {"topic": max((len(row.record.topic) for row in records), default=0)}
        self.grid.show(list(self._rows), self._cells, widths, follow=True)
        known = sum(each.fault is not None for each in self.partitions)
        end = f"{known} at fault" if known else "record at fault unknown" if self.partitions else ""
        self.head(("failing record", "bold $accent"), f"  {visible(self.name_shown)}", end=end)
        self.show_current()
        self.refresh_bindings()

    def _cells(self, key: str) -> Mapping[str, Cell]:
        if key not in self._rows:
            return {}
        partition, decoded = self._rows[key]
        is_fault = decoded.record.offset == partition.fault
        mark = Cell("✗", "grid--error") if is_fault else Cell("")
        return {**words.cells(decoded), "mark": mark, "topic": Cell(decoded.record.topic, "grid--muted")}

    def show_current(self) -> None:
        if (row := self.current) is None:
            self.pager.put(Content(""), top=True)
            return
        partition, decoded = row
        text = words.explained(decoded, self.view, self.pager.columns)
        self.pager.put(Content.assemble(*self._why(partition, decoded), "\n", text), top=True)

    def _why(self, partition: FailingPartition, decoded: DecodedRecord) -> list[Content]:
        offset, fault = decoded.record.offset, partition.fault
        cause = next((task.trace for task in self.connector.tasks if task.trace), "") if self.connector else ""
        if fault is None:
            text = (
                "The record at fault is not known: the task failed after it had read this partition from offset "
                f"{partition.first.offset} on."
            )
        elif offset == fault:
            text = f"The sink stands on this record: {partition.why}."
        elif offset < fault:
            text = f"Not processed yet: it is in the batch of {partition.name}@{fault}, which failed."
        else:
            text = "Not processed yet."
        lines = [Content.styled(f"{visible(text)}\n", "bold $error" if offset == fault else "$warning")]
        return [*lines, Content.styled(f"{visible(cause_line(cause))}\n", "$error")] if cause else lines

    def allows(self, action: str) -> bool:
        return action not in ("skip", "view", "copy") or self.current is not None

    def action_view(self) -> None:
        if (row := self.current) is not None:
            self.view = words.next_view(row[1], self.view)
            self.show_current()

    def action_copy(self) -> None:
        if (row := self.current) is not None:
            self.report(copy(self, words.copied(row[1], self.view), "the value"))

    # Skipping

    def action_skip(self) -> None:
        row = self.current
        if row is None or self._busy or not self.services.may_change("skipping a record", self.report):
            return
        if running := self.services.operations.pending(self.name_shown):
            self.report(f"{running.title} is still under way", "warn")
        else:
            self.run_worker(self._ask(*row), exit_on_error=False)

    async def _ask(self, partition: FailingPartition, last: DecodedRecord) -> None:
        chosen = [each for each in partition.records if each.record.offset <= last.record.offset]
        connector, base = self.connector, self.base
        if connector is None:
            return
        count = len(chosen)
        typed = f" type {count} to continue" if count > 1 else ""
        dialog = Dialog(
            f"skip {counted(count, 'record')} of {partition.name}?{typed}",
            question(partition, chosen, connector),
            "skip",
            name=str(count) if count > 1 else "",
            danger=self.services.profile.production,
            why="",
        )
        if await self.app.push_screen_wait(dialog):
            self.services.do(self._skip(chosen, base, connector.state, dialog.why))
        else:
            self.report("cancelled: skip")

    async def _skip(self, chosen: list[DecodedRecord], base: tuple[Offset, ...], state: str, why: str) -> None:
        name, services, first = self.name_shown, self.services, chosen[0].record
        line = f"skip record {quote(name)} --topic {first.topic} --partition {first.partition} -n {len(chosen)}"
        async with services.tracked("skip record", name, (line,)) as (operation, connect):
            self.operation = operation
            context = services.connection.context(connect, lambda text: services.operations.note(operation, text))
            file = failing_record.skipped_file(name)
            records = [each.record for each in chosen]
            done = await failing_record.carry_out_skip(context, name, base, records, file, state, why)
            services.operations.note(operation, done.message)
            if done.failed:
                services.operations.failed(operation, done.message)
            elif state != "STOPPED":
                operation.changed, operation.goal = done.message, "PAUSED" if state == "PAUSED" else "RUNNING"
        if state == "STOPPED" and self.is_attached:
            self.action_reload()


def question(partition: FailingPartition, chosen: list[DecodedRecord], connector: Connector) -> Content:
    """What is skipped, what is not at fault among it, and the steps."""
    parts: list[str | tuple[str, str]] = []
    parts += [f"offset {each.record.offset}  {visible(each.value.line[:60])}\n" for each in chosen[:MAX_QUESTION]]
    if len(chosen) > MAX_QUESTION:
        parts.append((f"and {len(chosen) - MAX_QUESTION:,} more\n", "$text-muted"))
    if others := sum(each.record.offset != partition.fault for each in chosen) if partition.fault is not None else 0:
        text = (
            f"\n{counted(others, 'record')} of them {'is' if others == 1 else 'are'} not at fault, and the sink would "
        )
        remedy = "To deliver them first, set consumer.override.max.poll.records to 1 and restart the task.\n"
        parts.append((f"{text}never process them. {remedy}", "$error"))
    stop, resume = ("", "") if connector.state == "STOPPED" else ("stop, ", ", resume")
    resume = ", pause" if connector.state == "PAUSED" else resume
    parts.append(
        f"\nIn one step: save to a file, {stop}set the offset, read it back{resume}. u on the offsets page undoes it."
    )
    return Content.assemble(*parts)


def _rows(partition: FailingPartition) -> list[tuple[str, tuple[FailingPartition, DecodedRecord]]]:
    """The records up to the one at fault, and some behind it."""
    until = partition.before_fault + 1 + AFTER
    return [(_key(each), (partition, each)) for each in partition.records[:until]]


def _key(decoded: DecodedRecord) -> str:
    return f"{decoded.record.topic} {decoded.record.id}"

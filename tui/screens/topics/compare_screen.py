"""Two records of a topic side by side: the fields that differ, or their whole values as lines of a diff."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from tui.formatting import counted, cut
from tui.screens.base.page import Page
from tui.screens.base.program import copy
from tui.screens.base.side_by_side import in_columns
from tui.screens.services.cluster_services import ClusterServices
from tui.screens.topics.record_text import time_in_row
from tui.topics import exact_json, record_diff
from tui.topics.decoding import DecodedRecord
from tui.topics.record_diff import ABSENT, EXCERPT
from tui.widgets.pager import Pager
from tui.widgets.text import visible

SAME = "(same)"
STYLES = {"-": "$error", "+": "$success", " ": "$text-muted"}


class CompareScreen(Page):
    """`first` is the earlier or the marked record."""

    DEFAULT_CSS = "CompareScreen Pager { height: 1fr; scrollbar-gutter: stable; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "v", "view", "differences/whole values", tooltip="the fields that differ, or the whole values as a diff"
        ),
        Binding("y", "copy", "copy differences", tooltip="copy the differences as JSON"),
    ]

    def __init__(self, services: ClusterServices, first: DecodedRecord, second: DecodedRecord) -> None:
        super().__init__(services)
        self.first, self.second = first, second
        self.differences = record_diff.differences(first, second)
        self.is_whole = False

    def body(self) -> ComposeResult:
        yield Pager()

    @property
    def pager(self) -> Pager:
        return self.query_one(Pager)

    def on_mount(self) -> None:
        self.pager.focus()
        self.call_after_refresh(self.draw)

    def on_resize(self) -> None:
        self.call_after_refresh(self.draw)

    def draw(self) -> None:
        count = counted(len(self.differences), "difference") if self.differences else "no differences"
        self.head(("compare", "bold $accent"), f"  {visible(self.first.record.topic)}", end=count)
        self.pager.put(self._facts() + (self._whole() if self.is_whole else Content("")))

    def _facts(self) -> Content:
        """Time, key and headers, and the fields that differ; without the latter of the value if it follows as a
        whole."""
        first, second = self.first, self.second
        rows = [("time", time_in_row(first.record.timestamp), time_in_row(second.record.timestamp))]
        if first.record.timestamp and second.record.timestamp:
            seconds = (second.record.timestamp - first.record.timestamp) / 1000
            rows.append(("", "", f"{seconds:+,.3f} s"))
        fields = {difference.field.split(".")[0].split("[")[0] for difference in self.differences}
        if "key" not in fields:
            rows.append(("key", cut(first.key.line, EXCERPT), SAME))
        if first.headers and not any(field.startswith("header") for field in fields):
            rows.append(("headers", counted(len(first.headers), "header"), SAME))
        if "value" not in fields:
            rows.append(("value", f"{first.value.form}, {len(first.record.value or b''):,} bytes", SAME))
        shown = [each for each in self.differences if not (self.is_whole and each.field.startswith("value"))]
        rows += [(each.field, *each.texts) for each in shown]
        headings = ("", first.record.place, second.record.place)
        return in_columns(headings, rows, max(40, self.pager.columns), ABSENT)

    def _whole(self) -> Content:
        lines = record_diff.lines(self.first.value, self.second.value)
        parts = [(f"{line[0]} {visible(line[1:])}\n", STYLES[line[0]]) for line in lines]
        return Content.assemble(("\nvalue\n", "bold $accent"), *parts)

    def action_view(self) -> None:
        self.is_whole = not self.is_whole
        self.draw()

    def action_copy(self) -> None:
        text = exact_json.dumps([each.as_json() for each in self.differences], indent=2, ensure_ascii=False)
        self.report(copy(self, text, "the differences"))

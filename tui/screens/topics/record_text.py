"""Texts about records: a row of the table, and a whole record."""

from __future__ import annotations

import time
from collections.abc import Mapping

from textual.content import Content

from tui.formatting import local_time
from tui.topics import byte_views
from tui.topics.byte_views import ByteView, best_view, shown
from tui.topics.decoding import Decoded, DecodedRecord
from tui.widgets.columns import Column
from tui.widgets.grid import Cell
from tui.widgets.jsontext import coloured
from tui.widgets.text import visible, visible_lines

COLUMNS = (
    Column("time", "TIME", 18),
    Column("partition", "PART", 4, right=True),
    Column("offset", "OFFSET", 9, right=True, grows=True),
    Column("key", "KEY", 8, rank=1, grows=True),
    Column("value", "VALUE", 20, grows=True),
)
MAX_LINE = 400  # characters of a value in a row
MAX_TEXT = 64 * 1024  # characters of a value in full
INDENT = 10  # columns before the key and the headers
Part = str | Content | tuple[str, str]


def cells(decoded: DecodedRecord) -> Mapping[str, Cell]:
    record = decoded.record
    return {
        "time": Cell(time_in_row(record.timestamp), "grid--muted"),
        "partition": Cell(str(record.partition), "grid--muted"),
        "offset": Cell(str(record.offset)),
        "key": Cell("" if decoded.key.value is None else decoded.key.line[:MAX_LINE], "grid--accent"),
        "value": Cell(decoded.value.line[:MAX_LINE], _style(decoded.value)),
    }


def widths(decoded: list[DecodedRecord]) -> dict[str, int]:
    """The widths that the contents of the growing columns want."""
    return {
        "offset": max((len(str(decoded.record.offset)) for decoded in decoded), default=0),
        "key": min(40, max((len(decoded.key.line) for decoded in decoded), default=0)),
        "value": max((len(decoded.value.line[:MAX_LINE]) for decoded in decoded), default=0),
    }


def _style(value: Decoded) -> str:
    return "grid--warning" if value.note else "grid--muted" if value.form in ("null", "bytes") else ""


def time_in_row(timestamp: int) -> str:
    """The time of a record without its year, `-` without one."""
    if not timestamp:
        return "-"
    return time.strftime("%m-%d %H:%M:%S", time.localtime(timestamp / 1000)) + f".{timestamp % 1000:03}"


def explained(decoded_record: DecodedRecord, view: ByteView | None, columns: int = 80) -> Content:
    """Position, time, key, headers and value of a record in `columns`; `view` None shows the decoded value."""
    record = decoded_record.record
    parts: list[Part] = []

    def line(key: str, value: str, style: str = "") -> None:
        first, *rest = visible_lines(value)
        parts.extend([(f"{key:<{INDENT - 1}} ", "$text-muted"), (first, style), "\n"])
        parts.extend((f"{'':<{INDENT}}{text}\n", style) for text in rest)

    line("at", f"{record.topic}, partition {record.partition}, offset {record.offset}")
    line("time", local_time(record.timestamp) if record.timestamp else "none")
    hexadecimal = view is ByteView.HEX and record.key is not None
    line("key", shown(record.key, ByteView.HEX, 400, columns - INDENT) if hexadecimal else decoded_record.key.text)
    for name, value in decoded_record.headers:
        line("header", f"{name} = {value.line[:MAX_LINE]}")
    for part, decoded in (("key", decoded_record.key), ("value", decoded_record.value)):
        if decoded.note:
            line(f"! {part}", decoded.note, "$warning")
    form = decoded_record.value.form if view is None else view.value
    size = len(record.value or b"")
    parts.append((f"\nvalue as {form}, {size:,} bytes (v: other format)\n", "bold $accent"))
    parts.append(_value(decoded_record, view, columns))
    return Content.assemble(*parts)


def _value(decoded: DecodedRecord, view: ByteView | None, columns: int) -> Content:
    if view is not None:
        return Content("\n".join(visible_lines(shown(decoded.record.value, view, columns=columns))))
    text = decoded.value.text
    more = f"\n… {len(text) - MAX_TEXT:,} characters more" if len(text) > MAX_TEXT else ""
    text = text[:MAX_TEXT] + more
    if decoded.value.is_structured:
        return coloured(text)
    if decoded.value.form == "text" and best_view(decoded.record.value) is ByteView.JSON:
        return coloured(shown(decoded.record.value, ByteView.JSON, MAX_TEXT))
    return Content("\n".join(map(visible, text.split("\n"))))


def next_view(decoded: DecodedRecord, view: ByteView | None) -> ByteView | None:
    """The next view in which the value looks different."""
    views = (None, ByteView.TEXT, ByteView.HEX)
    return byte_views.next_view(views, view, lambda other: _value(decoded, other, 80).plain)


def copied(decoded: DecodedRecord, view: ByteView | None) -> str:
    """The value as it is shown, for the clipboard."""
    return decoded.value.text if view is None else shown(decoded.record.value, view)

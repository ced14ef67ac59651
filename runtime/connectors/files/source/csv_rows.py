"""The rows of CSV files. A row that cannot be read does not affect the others."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any

import pyarrow as pa

from runtime.api.errors import DataError
from runtime.connectors.files.arrow_values import ArrowValues
from runtime.connectors.files.formats import has_tabs
from runtime.connectors.files.source.opened_file import OpenedFile
from runtime.connectors.files.source.rows import FileRows, Piece, ReadSettings, UnreadableRows, block_rows
from runtime.connectors.files.source.text_blocks import CsvEnds, TextBlock, text_blocks, without_mark

_LINE_ENDS = b"\r\n"
_OPEN_QUOTE = "a field starts with a quote that is not closed"

Part = Any
"""Unreadable rows, or an Arrow record batch."""


def csv_rows(opened: OpenedFile, settings: ReadSettings) -> Iterator[FileRows]:
    """The rows of a file that have not been read."""
    delimiter = "\t" if has_tabs(opened.path) else settings.delimiter
    ends, row = CsvEnds(delimiter.encode(settings.charset)), opened.resume[1]
    first, complete = ends.first(opened) if settings.header or not settings.columns else (b"", True)
    if not complete and not opened.is_settled():
        return
    if not complete and b"\n" in first:
        raise DataError(f"the first row has no end: {_OPEN_QUOTE}")
    names = settings.columns or _names(first, delimiter, settings)
    if not names:
        return
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise DataError(f"several columns are named {repeated[0]!r}: name all columns in csv.columns")
    parser = _Parser(names, delimiter, settings.charset, ends)
    for block in text_blocks(opened, ends, len(first) if settings.header else 0):
        parts = _Parts(list(parser.parts(block)), parser.to_values)
        yield from block_rows(opened, settings, block.span(row, parts.count), parts.between)
        row += parts.count


def _names(first: bytes, delimiter: str, settings: ReadSettings) -> Sequence[str]:
    """The names of the columns; empty for an empty file."""
    text = StringIO(without_mark(first).decode(settings.charset, "replace"), newline="")
    fields: list[str] = next(csv.reader(text, delimiter=delimiter), [])
    return fields if settings.header else [f"column{number + 1}" for number in range(len(fields))]


class _Parts:
    """The parts of a block as pieces."""

    def __init__(self, parts: Sequence[Part], to_values: ArrowValues) -> None:
        self._parts, self._to_values = parts, to_values
        self.count = sum(_count(part) for part in parts)

    def between(self, first: int, end: int) -> list[Piece]:
        pieces: list[Piece] = []
        start = 0
        for part in self._parts:
            count = _count(part)
            low, high = max(first - start, 0), min(end - start, count)
            if low < high:
                unread = isinstance(part, UnreadableRows)
                pieces.append(part if unread else self._to_values(part.slice(low, high - low)))
            start += count
        return pieces


def _count(part: Part) -> int:
    return part.count if isinstance(part, UnreadableRows) else len(part)


class _Parser:
    """Parses the text of one file."""

    def __init__(self, names: Sequence[str], delimiter: str, charset: str, ends: CsvEnds) -> None:
        self._names, self._delimiter, self._charset, self._ends = names, delimiter, charset, ends
        self.to_values = ArrowValues(pa.schema([(name, pa.string()) for name in names]))

    def parts(self, block: TextBlock) -> Iterator[Part]:
        """The rows of a block, in order."""
        text, start = block.text, 0
        for first, end in block.broken:
            yield from self._text_parts(text[start:first])
            yield UnreadableRows(1, _OPEN_QUOTE, text[first:end])
            start = end
        yield from self._text_parts(text[start:] if start else text)

    def _text_parts(self, text: bytes) -> Iterator[Part]:
        if not text.strip(_LINE_ENDS):
            return
        try:
            yield self._batch(text)
        except (pa.ArrowException, UnicodeDecodeError) as error:
            yield from self._halves(self._ends.rows(text), error)

    def _halves(self, rows: Sequence[bytes], error: Exception) -> Iterator[Part]:
        """The parts of rows of which some cannot be parsed: halves them until those are alone."""
        if len(rows) == 1:
            yield UnreadableRows(1, _reason(error, self._charset), rows[0])
            return
        middle = len(rows) // 2
        for half in (rows[:middle], rows[middle:]):
            try:
                yield self._batch(b"".join(half))
            except (pa.ArrowException, UnicodeDecodeError) as again:
                yield from self._halves(half, again)

    def _batch(self, text: bytes) -> Any:
        """The rows of a text as an Arrow record batch."""
        from pyarrow import csv as arrow

        names = self._names
        if self._charset != "utf-8":
            text = text.decode(self._charset).encode()
        read = arrow.ReadOptions(column_names=names, block_size=len(text) + 1, use_threads=False)
        parse = arrow.ParseOptions(delimiter=self._delimiter, newlines_in_values=True)
        convert = arrow.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True,
                                       quoted_strings_can_be_null=False, null_values=[""])  # fmt: skip
        table = arrow.read_csv(pa.py_buffer(text), read, parse, convert) if text.strip(_LINE_ENDS) else None
        return pa.record_batch([pa.array([], pa.string())] * len(names), names) if table is None else _single(table)


def _single(table: Any) -> Any:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else table.schema.empty_table().to_batches()[0]


_COLUMNS = re.compile(r"[Ee]xpected \d+ columns, got \d+")  # the rest of the message is the content of the row


def _reason(error: Exception, charset: str) -> str:
    if "invalid UTF8" in str(error) or isinstance(error, UnicodeDecodeError):
        return f"its bytes are not valid {charset}; see the option charset"
    columns = _COLUMNS.search(str(error))
    return columns.group() if columns else str(error).splitlines()[0]

"""Files of text, read as blocks of complete rows.

The rows after the last line break may be unfinished: a row that is still being written is never part of a block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pyarrow as pa

from runtime.api.errors import DataError
from runtime.connectors.files.formats import compression_of
from runtime.connectors.files.source.cursor import BlockSpan
from runtime.connectors.files.source.opened_file import Fingerprint, OpenedFile

_CHUNK = 4 * 1024 * 1024  # bytes of text that are read at once
_FIRST = 64 * 1024  # bytes in which the first row is looked for
_LONGEST_ROW = 256 * 1024 * 1024


class TextBlock(NamedTuple):
    """Complete rows; `span` has yet to get the numbers of the rows."""

    text: bytes
    start: int
    end: int
    check: str
    last: bool

    def span(self, row: int, count: int) -> BlockSpan:
        """The place of this block, whose first row has the number `row`."""
        return BlockSpan(row, self.start, row + count, self.end, self.check, self.last)


class LineEnds:
    """Finds the ends of rows, each of which is a line."""

    def end(self, text: bytes) -> int:
        """The number of bytes of a text, which starts with a row, that belong to complete rows."""
        return text.rfind(b"\n") + 1


class CsvEnds(LineEnds):
    """A row of CSV may contain line breaks in quotes. As pyarrow does, takes a quote for one that opens a field only at
    the start of the field."""

    def __init__(self, delimiter: str) -> None:
        cut = re.escape(delimiter.encode())
        quoted = rb"(?<![^" + cut + rb'\r\n])"(?:[^"]++|"")*+"'
        row = rb'(?:[^"\r\n]++|' + quoted + rb"|(?<=[^" + cut + rb'\r\n])")*+(?:\r\n|\n|\r(?!\Z))'
        self._row, self._rows = re.compile(row), re.compile(rb"(?:" + row + rb")*+")

    def end(self, text: bytes) -> int:
        if b'"' not in text and b"\r" not in text:
            return super().end(text)
        rows = self._rows.match(text)
        return rows.end() if rows else 0

    def first(self, opened: OpenedFile) -> tuple[bytes, bool]:
        """The first row of a file, and whether it is complete, with its line break."""
        text = b""
        with opened.store.open_stream(opened.path, compression_of(opened.path)) as stream:
            while data := stream.read(max(_FIRST, len(text))):
                text += data
                if row := self._row.match(text):
                    return row.group(), True
        return text, False


def text_blocks(opened: OpenedFile, rows: LineEnds, skip: int = 0) -> Iterator[TextBlock]:
    """The blocks after the bytes that have been read, and after the `skip` bytes of a header. A last row without a line
    break follows only if the file is finished."""
    with ExitStack() as closing:
        if compression_of(opened.path):
            yield from _compressed(opened, rows, skip, closing)
        else:
            yield from _plain(opened, rows, skip, closing)


def _plain(opened: OpenedFile, rows: LineEnds, skip: int, closing: ExitStack) -> Iterator[TextBlock]:
    file = closing.enter_context(opened.open())
    read = opened.verified(file)
    if read.ends_within_line and file.read_at(1, read.position) not in (b"", b"\r", b"\n"):
        raise opened.changed("its last line had no line break when it was read, and was continued later")
    resumed = Fingerprint.of_file(file, max(opened.resume[0], skip))
    file.seek(resumed.position)
    for text, _, last in _cut(file, rows, opened.is_settled):
        start = resumed.position
        resumed.add(text)
        yield TextBlock(text, start, resumed.position, resumed.check, last)


def _compressed(opened: OpenedFile, rows: LineEnds, skip: int, closing: ExitStack) -> Iterator[TextBlock]:
    """Reads from the start: positions are those of compressed bytes. The last byte is held back until everything has
    been read, so that a position at the end of the file means that nothing is left."""
    with opened.open() as file:
        opened.verified(file)
    if opened.cursor.done and not opened.cursor.is_of(opened.file):
        raise opened.changed("it was finished when it was read")
    recorder = closing.enter_context(opened.recorded())
    stream = closing.enter_context(pa.CompressedInputStream(pa.PythonFile(recorder, "r"), compression_of(opened.path)))
    read, held = Fingerprint(), b""
    while skip:
        skip -= len(stream.read(skip))
    for text, complete, last in _cut(stream, rows, opened.is_settled):
        raw = held + recorder.take()
        held = b"" if complete else raw[-1:]
        start = read.position
        read.add(raw[: len(raw) - len(held)])
        yield TextBlock(text, start, read.position, read.check, last)


def _cut(stream: Any, rows: LineEnds, settled: Callable[[], bool]) -> Iterator[tuple[bytes, bool, bool]]:
    """Complete rows, whether nothing follows them, and whether they are a last row without a line break."""
    rest, data = b"", stream.read(_CHUNK)
    while data:
        rest += data
        data = stream.read(max(_CHUNK, len(rest)))
        end = rows.end(rest)
        if not end and len(rest) > _LONGEST_ROW:
            raise DataError(f"a row is longer than {_LONGEST_ROW >> 20} MiB; is a quote missing?")
        if end:
            text, rest = rest[:end], rest[end:]
            yield text, not data and not rest, False
    if rest.strip() and settled():
        yield rest, True, True

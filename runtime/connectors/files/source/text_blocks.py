"""Files of text, read as blocks of complete rows.

The rows after the last line break may be unfinished: a row that is still being written is never part of a block.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
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


Span = tuple[int, int]
"""The first byte of a part of a text, and the byte after its last."""


class TextBlock(NamedTuple):
    """Complete rows; `span` has yet to get the numbers of the rows. `broken` are rows that have no end."""

    text: bytes
    broken: Sequence[Span]
    start: int
    end: int
    check: str
    last: bool

    def span(self, row: int, count: int) -> BlockSpan:
        """The place of this block, whose first row has the number `row`."""
        return BlockSpan(row, self.start, row + count, self.end, self.check, self.last)


_MARK = b"\xef\xbb\xbf"
_OTHER_MARKS = (b"\xff\xfe", b"\xfe\xff")


def without_mark(text: bytes) -> bytes:
    """The start of a file without the byte order mark of UTF-8. DataError for that of another encoding."""
    if text.startswith(_OTHER_MARKS):
        raise DataError("it starts with a byte order mark of UTF-16 or UTF-32; convert the file to UTF-8")
    return text.removeprefix(_MARK)


class LineEnds:
    """Finds the ends of rows, each of which is a line."""

    def cut(self, text: bytes, whole: bool) -> tuple[int, list[Span]]:
        """The number of bytes of a text, which starts with a row, that belong to complete rows, and the rows in it that
        have no end. `whole`: nothing follows the text, whose last row may lack its line break."""
        return len(text) if whole else text.rfind(b"\n") + 1, []


class CsvEnds(LineEnds):
    """A row of CSV may contain line breaks in quotes. As pyarrow does, takes a quote for one that opens a field only at
    the start of the field.

    A quote that is not closed would turn all rows up to the next quote into one field. So the row ends at its line, as
    broken, if a field with line breaks continues after its closing quote, or has none in the whole file."""

    def __init__(self, delimiter: bytes) -> None:
        cut = re.escape(delimiter)
        start = rb"(?<![^" + cut + rb'\r\n])"'
        ended = rb"(?=[" + cut + rb"\r\n]|\Z)"
        quoted = start + rb'(?:(?:[^"\r\n]++|"")*+"|(?:[^"]++|"")*+"' + ended + rb")"
        fields = rb'(?:[^"\r\n]++|' + quoted + rb"|(?<=[^" + cut + rb'\r\n])")*+'
        row = fields + rb"(?:\r\n|\n|\r(?!\Z))"
        self._row, self._rows = re.compile(row), re.compile(rb"(?:" + row + rb")*+")
        self._last = re.compile(fields + rb"\r?\Z")
        self._continued = re.compile(fields + start + rb'(?:[^"]++|"")*+"(?!\Z)')

    def cut(self, text: bytes, whole: bool) -> tuple[int, list[Span]]:
        if b'"' not in text and b"\r" not in text:
            return super().cut(text, whole)
        end = 0
        broken: list[Span] = []
        while (end := self._end(text, end)) < len(text):
            if self._last.match(text, end) or not (whole or self._continued.match(text, end)):
                return len(text) if whole else end, broken
            line = text.find(b"\n", end) + 1 or len(text)
            broken.append((end, line))
            end = line
        return end, broken

    def rows(self, text: bytes) -> list[bytes]:
        """The rows of a text without broken rows; the last may lack its line break."""
        rows, start = [], 0
        while start < len(text):
            row = self._row.match(text, start)
            end = row.end() if row else len(text)
            rows.append(text[start:end])
            start = end
        return rows

    def first(self, opened: OpenedFile) -> tuple[bytes, bool]:
        """The first row of a file, and whether it is complete, with its line break."""
        text = b""
        with opened.store.open_stream(opened.path, compression_of(opened.path)) as stream:
            while data := stream.read(max(_FIRST, len(text))):
                text += data
                mark = len(text) - len(without_mark(text))
                if row := self._row.match(text, mark):
                    return text[: row.end()], True
                if self._continued.match(text, mark):
                    break
        return text, False

    def _end(self, text: bytes, start: int) -> int:
        rows = self._rows.match(text, start)
        return rows.end() if rows else start


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
    for rest in _cut(file, rows, opened.is_settled):
        start = resumed.position
        resumed.add(rest.text)
        yield rest.block(start, resumed)


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
    for rest in _cut(stream, rows, opened.is_settled):
        raw = held + recorder.take()
        held = b"" if rest.complete else raw[-1:]
        start = read.position
        read.add(raw[: len(raw) - len(held)])
        yield rest.block(start, read)


class _Rows(NamedTuple):
    """Complete rows, and those of them without an end. `complete`: nothing follows them. `last`: they end the file, of
    which no more is expected, without a line break or with a broken row."""

    text: bytes
    broken: Sequence[Span]
    complete: bool
    last: bool = False

    def block(self, start: int, read: Fingerprint) -> TextBlock:
        """The rows as a block between `start` and what has been read. At the start of a file, without its mark."""
        text, broken = self.text, self.broken
        if not start and (mark := len(text) - len(without_mark(text))):
            text, broken = text[mark:], [(max(first - mark, 0), end - mark) for first, end in broken]
        return TextBlock(text, broken, start, read.position, read.check, self.last)


def _cut(stream: Any, rows: LineEnds, settled: Callable[[], bool]) -> Iterator[_Rows]:
    """Complete rows; those after the last line break only if the file is finished."""
    rest, data = b"", stream.read(_CHUNK)
    while data:
        rest += data
        data = stream.read(max(_CHUNK, len(rest)))
        end, broken = rows.cut(rest, whole=False)
        if not end and len(rest) > _LONGEST_ROW:
            raise DataError(f"a row is longer than {_LONGEST_ROW >> 20} MiB; is a quote missing?")
        if end:
            text, rest = rest[:end], rest[end:]
            yield _Rows(text, broken, not data and not rest)
    if rest.strip() and settled():
        yield _Rows(rest, rows.cut(rest, whole=True)[1], True, True)

"""Rows of files: values, and rows that cannot be read, with the block of the file to which they belong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from runtime.api.data.columns import ValueBatch
from runtime.connectors.files.source.cursor import BlockSpan
from runtime.connectors.files.source.opened_file import OpenedFile


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """How files are read. `columns` names the fields of CSV files without a header, `charset` is that of text."""

    rows: int  # most rows of a block
    delimiter: str = ","
    header: bool = True
    columns: tuple[str, ...] = ()
    charset: str = "utf-8"


@dataclass(frozen=True, slots=True)
class UnreadableRows:
    """Consecutive rows that cannot be read: their number, the reason, and their bytes, if known."""

    count: int
    reason: str
    raw: bytes | None = None


Piece = ValueBatch | UnreadableRows


class FileRows(NamedTuple):
    """Consecutive rows from number `first`, and the block of the file to which they belong."""

    pieces: Sequence[Piece]
    first: int
    span: BlockSpan


def block_rows(
    opened: OpenedFile, settings: ReadSettings, span: BlockSpan, pieces: Callable[[int, int], Sequence[Piece]]
) -> Iterator[FileRows]:
    """The rows of a block that have not been read. `pieces` gets the numbers, within the block, of a row and of the row
    after the last."""
    count = span.end_row - span.first_row
    for first in range(max(opened.cursor.row - span.first_row, 0), count, settings.rows):
        yield FileRows(pieces(first, min(first + settings.rows, count)), span.first_row + first, span)

"""Source partitions and offsets of FilesSource: a file, and how far it has been read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runtime.api.errors import ConnectError
from runtime.api.task import Offset, Partition
from runtime.connectors.files.folder_store import ListedFile

PATH, ROW, SIZE, MODIFIED, DONE = "path", "row", "size", "modified", "done"
POSITION, CHECK, BLOCK_ROW, BLOCK = "position", "check", "block_row", "block"
_NUMBERS = (ROW, SIZE, MODIFIED, POSITION, BLOCK_ROW, BLOCK)
_KEYS = (ROW, SIZE, MODIFIED, POSITION, CHECK, BLOCK_ROW, BLOCK, DONE)


@dataclass(frozen=True, slots=True)
class BlockSpan:
    """A part of a file that is read at once: rows `first_row` to `end_row` (exclusive), bytes `start` to `end`.

    `check` is the fingerprint of the file up to `end`, which is 0 where the format has no such position. `last`: the
    file was finished, and these are its last rows."""

    first_row: int
    start: int
    end_row: int
    end: int
    check: str
    last: bool = False


@dataclass(frozen=True, slots=True)
class FileCursor:
    """A position in a file: the next row, counted from 0. `size` in bytes and `modified` in milliseconds since 1970 are
    those of the file that was read, None if unknown; `done`: the file was finished, and has been read to its end.

    `position` is the end of the bytes that have been read; `check` has the number of the row there and the fingerprint
    of these bytes. `block` is the position of the earlier row `block_row`. None in offsets of earlier versions."""

    row: int = 0
    size: int | None = None
    modified: int | None = None
    done: bool = False
    position: int | None = None
    check: str | None = None
    block_row: int | None = None
    block: int | None = None

    @classmethod
    def of(cls, offset: Offset | None) -> FileCursor:
        """The position in a committed offset; ConnectError if the offset is invalid."""
        if offset is None:
            return cls()
        check_offset(offset)
        return cls(**offset)

    @property
    def offset(self) -> dict[str, Any]:
        """The offset with which reading resumes here."""
        fields = {name: getattr(self, name) for name in _KEYS}
        return {name: value for name, value in fields.items() if value is not None and value is not False}

    @property
    def checked_row(self) -> int:
        """The number of the row at `position`."""
        return int(self.check.partition("-")[0]) if self.check else 0

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the bytes up to `position`."""
        return self.check.partition("-")[2] if self.check else ""

    @property
    def resume(self) -> tuple[int, int]:
        """The last known position at or before the row, and the row there: not that of an altered row."""
        if self.position and self.row == self.checked_row:
            return self.position, self.row
        if self.block and self.block_row is not None and self.block_row <= self.row < self.checked_row:
            return self.block, self.block_row
        return 0, 0

    def is_of(self, file: ListedFile) -> bool:
        """Whether the file is the one that was read, unchanged."""
        return self.size in (None, file.size) and (self.modified is None or self.modified == file.modified)

    def is_at_end_of(self, file: ListedFile) -> bool:
        """Whether the file is unchanged and has been read to its end."""
        if self.size is None or not self.is_of(file):
            return False
        return self.done or (self.row == self.checked_row and (self.position or 0) >= file.size)

    @classmethod
    def after(cls, file: ListedFile, span: BlockSpan, row: int) -> FileCursor:
        """The position before `row`, at the end of a block or within it."""
        made = cls(row, file.size, file.modified, False, span.end or None, f"{span.end_row}-{span.check}")
        if row == span.end_row:
            return replace(made, done=span.last)
        return replace(made, block_row=span.first_row, block=span.start)


def check_offset(offset: Mapping[str, Any]) -> None:
    """ConnectError unless this is a valid offset."""
    unknown = sorted(set(map(str, offset)) - set(_KEYS))
    if unknown:
        raise ConnectError(f"An offset of a file has the keys {', '.join(_KEYS[:-1])} and {DONE}, not {unknown[0]!r}")
    if ROW not in offset:
        raise ConnectError(f"An offset of a file needs the key {ROW!r}")
    for name in _NUMBERS:
        value = offset.get(name)
        least = None if name == MODIFIED else 0  # it may be before 1970
        if name in offset and not _is_number(value, least):
            raise ConnectError(f"{name!r} in the offset of a file must be a whole number from 0: {value!r}")
    if not re.fullmatch(r"\d+-[0-9a-f]+", str(offset.get(CHECK, "0-0"))):
        raise ConnectError(
            f"{CHECK!r} in the offset of a file must have been stored by the connector: {offset[CHECK]!r}"
        )
    if not isinstance(offset.get(DONE, False), bool):
        raise ConnectError(f"{DONE!r} in the offset of a file must be true or false: {offset[DONE]!r}")


def _is_number(value: Any, least: int | None) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and (least is None or value >= least)


def check_partition(partition: Partition | None) -> str:
    """The path in a source partition; ConnectError unless it is one of a file."""
    path = None if partition is None else partition.get(PATH)
    if partition is None or set(partition) != {PATH} or not isinstance(path, str):
        raise ConnectError(f"A source partition of a files source has the key {PATH!r} only, with the path of a file "
                           f"below the folder: {partition!r}")  # fmt: skip
    return path

"""Source partitions and offsets of FilesSource: a file, and how far it has been read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runtime.api.errors import ConnectError
from runtime.api.task import Offset, Partition
from runtime.connectors.files.folder_store import ListedFile

PATH, ROW, SIZE, MODIFIED, DONE = "path", "row", "size", "modified", "done"


@dataclass(frozen=True, slots=True)
class FileCursor:
    """A position in a file: the next row, counted from 0. `size` in bytes and `modified` in milliseconds since 1970 are
    those of the file that was read, None if unknown; `done`: the file has been read to its end."""

    row: int = 0
    size: int | None = None
    modified: int | None = None
    done: bool = False

    @classmethod
    def of(cls, offset: Offset | None) -> FileCursor:
        """The position in a committed offset; ConnectError if the offset is invalid."""
        if offset is None:
            return cls()
        check_offset(offset)
        return cls(offset[ROW], offset.get(SIZE), offset.get(MODIFIED), bool(offset.get(DONE)))

    def is_of(self, file: ListedFile) -> bool:
        """Whether the file is the one that was read."""
        return self.size in (None, file.size) and (self.modified is None or self.modified == file.modified)


def offset_after(file: ListedFile, row: int, done: bool) -> dict[str, Any]:
    """The offset from which to resume."""
    found: dict[str, Any] = {ROW: row, SIZE: file.size}
    if file.modified is not None:
        found[MODIFIED] = file.modified
    return {**found, DONE: True} if done else found


def check_offset(offset: Mapping[str, Any]) -> None:
    """ConnectError unless this is a valid offset."""
    unknown = sorted(set(map(str, offset)) - {ROW, SIZE, MODIFIED, DONE})
    if unknown:
        raise ConnectError(f"An offset of a file has the keys {ROW}, {SIZE}, {MODIFIED} and {DONE}, not {unknown[0]!r}")
    if ROW not in offset:
        raise ConnectError(f"An offset of a file needs the key {ROW!r}")
    for name in (ROW, SIZE, MODIFIED):
        value = offset.get(name)
        if name in offset and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise ConnectError(f"{name!r} in the offset of a file must be a whole number from 0: {value!r}")
    if not isinstance(offset.get(DONE, False), bool):
        raise ConnectError(f"{DONE!r} in the offset of a file must be true or false: {offset[DONE]!r}")


def check_partition(partition: Partition | None) -> str:
    """The path in a source partition; ConnectError unless it is one of a file."""
    path = None if partition is None else partition.get(PATH)
    if partition is None or set(partition) != {PATH} or not isinstance(path, str):
        raise ConnectError(f"A source partition of a files source has the key {PATH!r} only, with the path of a file "
                           f"below the folder: {partition!r}")  # fmt: skip
    return path

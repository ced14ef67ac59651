"""A file that is about to be read, from the position at which reading has stopped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from io import BufferedReader, RawIOBase
from typing import Any

from runtime.connectors.files.folder_store import FileError, FolderStore, ListedFile
from runtime.connectors.files.formats import compression_of
from runtime.connectors.files.source.cursor import FileCursor

# Tells a file that has grown from one whose content has changed, without reading it again.
#
# A fingerprint covers the first and the last bytes of what has been read. Files of up to TAIL bytes are covered wholly;
# in larger ones a change in the middle that keeps every later byte in its place is not noticed.
HEAD, TAIL = 4 * 1024, 64 * 1024


class Fingerprint:
    """The bytes of a file up to `position`."""

    def __init__(self, head: bytes = b"", tail: bytes = b"", position: int = 0) -> None:
        self._head, self._tail, self.position = head, tail, position

    @classmethod
    def of_file(cls, file: Any, position: int) -> Fingerprint:
        """That of an open pyarrow NativeFile up to `position`, or up to its end if it is shorter."""
        position = min(position, file.size())
        start = max(position - TAIL, 0)
        tail = bytes(file.read_at(position - start, start))
        head = bytes(file.read_at(min(HEAD, position), 0)) if start else tail[:HEAD]
        return cls(head, tail, position)

    @property
    def check(self) -> str:
        """The fingerprint as text."""
        return blake2b(self._head + self._tail, digest_size=8).hexdigest()

    @property
    def ends_within_line(self) -> bool:
        """Whether the last byte is not a line break."""
        return self.position > 0 and self._tail[-1:] not in b"\r\n"

    def add(self, data: bytes) -> None:
        """Continues with bytes that were read."""
        if len(self._head) < HEAD:
            self._head = (self._head + data[:HEAD])[:HEAD]
        self._tail = data[-TAIL:] if len(data) >= TAIL else (self._tail + data)[-TAIL:]
        self.position += len(data)


_BUFFER = 1024 * 1024  # bytes that are requested at once from the file system


class ChangedError(FileError):
    """The content of a file that was read has changed."""


class UnreadableError(FileError):
    """A file cannot be read. `incomplete`: perhaps because it is still being written."""

    def __init__(self, message: str, incomplete: bool) -> None:
        super().__init__(message)
        self.incomplete = incomplete


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A listed file and the cursor from which to read. `is_settled` is asked after its last byte has been read: whether
    the file is finished, and has not been modified since it was listed."""

    store: FolderStore
    file: ListedFile
    cursor: FileCursor
    is_settled: Callable[[], bool]

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def resume(self) -> tuple[int, int]:
        """The position at which to start, and its row. Compressed text can be read from its start only."""
        return (0, 0) if compression_of(self.path) else self.cursor.resume

    def open(self) -> Any:
        """The file for random access, as a pyarrow NativeFile."""
        return self.store.open_file(self.path)

    def recorded(self) -> Recorder:
        """The file for reading from its start to its end."""
        return Recorder(self.open())

    def verified(self, file: Any) -> Fingerprint:
        """The fingerprint of what has been read. Raises ChangedError if it has changed."""
        cursor = self.cursor
        if cursor.check is None:
            if cursor.size is not None and file.size() < cursor.size:
                raise self.changed(f"it has {file.size()} bytes, and had {cursor.size}")
            return Fingerprint()
        fingerprint = Fingerprint.of_file(file, cursor.position or 0)
        if fingerprint.position != cursor.position:
            raise self.changed(f"it has {fingerprint.position} bytes, and {cursor.position} were read")
        if fingerprint.check != cursor.fingerprint:
            raise self.changed("its content differs from the content that was read")
        return fingerprint

    def changed(self, reason: str) -> ChangedError:
        """The error for a file whose content has changed."""
        return ChangedError(
            f"{self.path} has changed since its rows up to {self.cursor.row} were read: {reason}. Files may only grow. "
            "Reset the offset of the file to read all its rows again, or give new content another name"
        )


class Recorder(RawIOBase):
    """Keeps the bytes that are read from a pyarrow NativeFile."""

    def __init__(self, file: Any) -> None:
        super().__init__()
        self._file = BufferedReader(file, _BUFFER)
        self._read: list[bytes] = []

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self._read.append(data)
        return data

    def tell(self) -> int:
        return self._file.tell()

    def jump(self, position: int) -> None:
        """Continues to read at another position."""
        self._file.seek(position)

    def take(self) -> bytes:
        """The bytes that were read since the last call."""
        read, self._read = self._read, []
        return b"".join(read)

    def close(self) -> None:
        self._file.close()
        super().close()

"""The offsets file of a standalone worker (`offset.storage.file.filename`), in Java's own format.

Either worker goes on from the other's file; not both at once. Each write is a new file that takes the old one's place,
so a crash or a full disk leaves the offsets of before.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from runtime.storage import java_map
from runtime.storage.java_map import Bytes

_NEW_FILE = 0o666


class OffsetsFileError(OSError):
    """The offsets file cannot be read or written; the message names it and the remedy."""


class OffsetsFile:
    """Reads and replaces the file. Blocks: not for the event loop, but for the small file at a start."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()

    def load(self) -> dict[Bytes, Bytes]:
        """What is in it; nothing when it is not there yet. OffsetsFileError when it, or its folder, is of no use."""
        folder = self._path.parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OffsetsFileError(f"{self._path}: folder {folder} is missing or not writable (offsets are kept there)")
        if self._path.exists() and not self._path.is_file():  # a device would be replaced by a file
            raise OffsetsFileError(f"{self._path} is not a file; name one in offset.storage.file.filename")
        try:
            return java_map.decode(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except java_map.NotAJavaMap as e:
            raise OffsetsFileError(
                f"{self._path} is no offsets file of a standalone worker: {e}; "
                "name another one in offset.storage.file.filename"
            ) from None
        except OSError as e:
            raise OffsetsFileError(f"{self._path} cannot be read: {e.strerror}") from None

    def save(self, entries: Mapping[Bytes, Bytes]) -> None:
        """Replace the file, durably. OffsetsFileError when that fails; the file is as it was then."""
        target = self._path.resolve()  # a link stays one
        try:
            self._replace(target, java_map.encode(entries))
        except OSError as e:
            raise OffsetsFileError(f"offsets cannot be written to {self._path}: {e.strerror}") from None

    def _replace(self, target: Path, content: bytes) -> None:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                os.fchmod(file.fileno(), _mode(target))
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise


def _mode(file: Path) -> int:
    """The rights of the file that is replaced; a new one's are the process's own choice."""
    try:
        return file.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return _NEW_FILE & ~mask

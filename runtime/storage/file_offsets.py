"""The offsets file of a standalone worker (`offset.storage.file.filename`), in Java's own format.

Apache's worker and this worker can use each other's file, but not at the same time. Each write replaces the file with a
new one, so a crash or a full disk leaves the previous offsets.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from runtime.storage import java_map
from runtime.storage.java_map import Bytes

_KEY = "offset.storage.file.filename"
_NEW_FILE = 0o666


class OffsetsFileError(OSError):
    """The offsets file cannot be read or written; the message names the file and the remedy."""


class OffsetsFile:
    """Reads and replaces the file. Blocks, so only the first read may run on the event loop."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()

    def load(self) -> dict[Bytes, Bytes]:
        """The entries of the file; empty if the file does not exist yet. OffsetsFileError if the file or its folder
        cannot be used."""
        folder = self._path.parent
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OffsetsFileError(
                f"{self._path}: folder {folder} is missing or not writable; create it, or set another file in {_KEY}"
            )
        if self._path.exists() and not self._path.is_file():  # a device would be replaced by a regular file
            raise OffsetsFileError(f"{self._path} is not a regular file; set another one in {_KEY}")
        try:
            return java_map.decode(self._path.read_bytes())
        except FileNotFoundError:
            return {}
        except java_map.NotAJavaMap as e:
            raise OffsetsFileError(
                f"{self._path} is not an offsets file of a standalone worker: {e}; set another file in {_KEY}"
            ) from None
        except OSError as e:
            raise OffsetsFileError(f"{self._path} cannot be read: {e.strerror}") from None

    def save(self, entries: Mapping[Bytes, Bytes]) -> None:
        """Replace the file durably. OffsetsFileError if that fails; the previous file remains."""
        target = self._path.resolve()  # a symbolic link remains a link
        try:
            self._replace(target, java_map.encode(entries))
        except OSError as e:
            raise OffsetsFileError(f"cannot write offsets to {self._path}: {e.strerror}") from None

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
    """The permissions of the file that is replaced; a new file gets the process's default."""
    try:
        return file.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return _NEW_FILE & ~mask

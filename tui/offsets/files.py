"""The console's files in the XDG state folder: private, replaced atomically, locked while in use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from tui import private_file
from tui.errors import HeadraceError

MAX_NAME_LENGTH = 100  # characters of the cluster's or connector's name in a file name


class LockHeld(Exception):
    """Another process holds the lock."""


def file_name(text: str) -> str:
    """A legible file name, unique for each cluster or connector."""
    from hashlib import sha256

    legible = quote(text, safe=" ", errors="surrogatepass")[:MAX_NAME_LENGTH]
    return f"{legible.replace(' ', '_')}-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def replace(path: Path, text: str) -> None:
    """Replaces a file atomically and syncs it to disk. Raises HeadraceError."""
    with naming_file(path):
        private_file.store(path, text)


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Turns an OSError, or text that is not UTF-8, into a HeadraceError that names the file and a remedy."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise HeadraceError(f"{path} is damaged: {error}", "remove the damaged line, or the file") from error
    except OSError as error:
        advice = "undo needs this file: set XDG_STATE_HOME to a writable folder"
        raise HeadraceError(f"cannot use {path}: {error.strerror or error}", advice) from error


class Lock:
    """A file lock, held until it is released or the process ends. Raises LockHeld."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with naming_file(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = self._open()

    def _open(self) -> int:
        from fcntl import LOCK_EX, LOCK_NB, flock

        while True:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                flock(descriptor, LOCK_EX | LOCK_NB)
                if os.fstat(descriptor).st_ino == self.path.stat().st_ino:
                    return descriptor
            except BlockingIOError:
                os.close(descriptor)
                raise LockHeld from None
            except FileNotFoundError:
                pass  # the other process removed the file after we opened it
            os.close(descriptor)

    def release(self) -> None:
        self.path.unlink(missing_ok=True)
        os.close(self._descriptor)

"""Files of the console's own in the XDG state folder: private, replaced whole, locked by whoever uses them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from tui.errors import HeadraceError

MAX_NAME_LENGTH = 100  # characters of a name that a file's name begins with


class LockHeld(Exception):
    """Somebody else holds the lock."""


def state_folder(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_STATE_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".local" / "state")
    return Path(base) / "headrace"


def file_name(text: str) -> str:
    """For any cluster or connector there may be: legible, and never the same for two."""
    from hashlib import sha256

    legible = quote(text, safe=" ", errors="surrogatepass")[:MAX_NAME_LENGTH]
    return f"{legible.replace(' ', '_')}-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def replace(path: Path, text: str) -> None:
    """Puts a file in place, on disk before this returns; whoever reads sees the old one or the new one."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with naming_file(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Says which file it is about, and what may help."""
    try:
        yield
    except OSError as error:
        advice = "it keeps what undoes a change: XDG_STATE_HOME names a folder that can be written"
        raise HeadraceError(f"cannot use {path}: {error.strerror or error}", advice) from error


class Lock:
    """Held until it is released or the process ends, however it ends. Raises Taken."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with naming_file(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._number = self._open()

    def _open(self) -> int:
        from fcntl import LOCK_EX, LOCK_NB, flock

        while True:
            number = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                flock(number, LOCK_EX | LOCK_NB)
                if os.fstat(number).st_ino == self.path.stat().st_ino:
                    return number
            except BlockingIOError:
                os.close(number)
                raise LockHeld from None
            except FileNotFoundError:
                pass  # released, and so removed, between our opening and locking it
            os.close(number)

    def release(self) -> None:
        self.path.unlink(missing_ok=True)
        os.close(self._number)

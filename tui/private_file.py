"""The console's own files, with records, configs or passwords, which only the user may read."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

LOCK_SECONDS = 5.0


def read(path: Path, encoding: str = "utf-8") -> str:
    """The text of a file, with universal newlines. Raises OSError, also for a pipe, a socket or a device, which could
    block, and UnicodeDecodeError."""
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    with os.fdopen(number, encoding=encoding) as file:
        return file.read()


def write(path: Path, text: str) -> None:
    """Writes the file with mode 0600 whatever the umask; an existing file of the user loses wider rights first.

    Raises OSError.
    """
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):  # not a device or a pipe
            os.fchmod(file.fileno(), 0o600)
            file.truncate()
        file.write(text)


def replace(path: Path, text: str, durable: bool = True) -> None:
    """Replaces the file atomically, with mode 0600: after a crash it is either the old or the new one; after a crash of
    the machine only if `durable`, which waits for the disk.

    Raises OSError.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.unlink(missing_ok=True)
        # O_EXCL: in a folder that others may write to, a symbolic link of theirs is not followed.
        number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(number, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        with suppress(OSError):  # it may hold secrets
            draft.unlink(missing_ok=True)
        raise


def save(path: Path, text: str) -> None:
    """As `replace` for a file that the user names; devices and pipes, such as `/dev/stdout`, stay what they are.

    Raises OSError.
    """
    is_device = str(path.parent) in ("/dev", "/dev/fd", "/proc/self/fd") or (path.exists() and not path.is_file())
    if not is_device:
        replace(path, text)
        return
    number = os.open(path, os.O_WRONLY | os.O_APPEND)
    with os.fdopen(number, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Exclusive access, among processes that use this function, to the files of a folder, to read and replace a file.
    Raises OSError, a TimeoutError if another process has had access for LOCK_SECONDS."""
    from fcntl import LOCK_EX, LOCK_NB, flock

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        until = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                flock(folder, LOCK_EX | LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise TimeoutError(errno.ETIMEDOUT, "another process is changing it", str(path)) from None
                time.sleep(0.01)
            except OSError:  # NFS does not lock folders
                break
        yield
    finally:
        os.close(folder)


def store(path: Path, text: str) -> None:
    """As `replace`, in a folder of the console's own, which is created if it does not exist. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace(path, text)

"""Private temporary folders of a process, named after it.

A process that is killed cannot remove its folders; the next process that creates one in the same place removes them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from runtime.system.process_identity import own_identity
from runtime.system.processes import start_time

_MAX_SOCKET_PATH = 103  # bytes; Linux takes 107
_SHORT = "/tmp"  # used if the path in the temporary folder would be too long
_KEPT = 86_400.0  # seconds for which a folder in the cache is kept whose process is not visible here
_NAME = re.compile(r"headrace-[0-9a-f]{8}-\d+-\w*-\w+")


def make_folder(socket: str) -> str:
    """Create a folder that only this user can enter, for a socket of this name. Removes the folders of this user's
    processes that have ended. OSError if that fails."""
    for parent in {tempfile.gettempdir(), _SHORT}:
        remove_orphans(Path(parent))
    prefix = _own_prefix()
    folder = tempfile.mkdtemp(prefix=prefix)
    if len(os.fsencode(Path(folder, socket))) <= _MAX_SOCKET_PATH:
        return folder
    Path(folder).rmdir()
    try:
        return tempfile.mkdtemp(prefix=prefix, dir=_SHORT)
    except OSError as error:
        reason = f"{error.strerror}, and the path of TMPDIR is too long for sockets: set TMPDIR to a shorter one"
        raise OSError(error.errno, reason, _SHORT) from None


@contextlib.contextmanager
def work_folder(parent: Path) -> Iterator[Path]:
    """A folder below `parent`, such as the cache, that is removed at the end. Removes those of this user's processes
    that have ended; after a day also those of other machines, or from before a restart of this one."""
    work = Path(make_folder_in(parent))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def make_folder_in(parent: Path) -> str:
    """Create a folder below `parent` that only this user can enter. Removes the same folders as work_folder()."""
    _remove([*_orphans(parent), *_old(parent)])
    return tempfile.mkdtemp(prefix=_own_prefix(), dir=parent)


def remove_orphans(parent: Path) -> None:
    """Remove the folders below `parent` of this user's processes that have ended."""
    _remove(_orphans(parent))


def _own_prefix() -> str:
    return f"{_prefix()}{os.getpid()}-{_started(os.getpid())}-"


def _prefix() -> str:
    """The name prefix for processes that are visible here: containers may share a temporary folder."""
    machine = hashlib.sha256(str(own_identity()["machine"]).encode()).hexdigest()
    return f"headrace-{machine[:8]}-"


def _started(pid: int) -> str:
    return re.sub(r"\W", "", start_time(pid) or "")


def _orphans(parent: Path) -> Iterator[Path]:
    prefix = _prefix()
    for folder in parent.glob(f"{prefix}*-*-*"):
        pid, started, *_ = folder.name.removeprefix(prefix).split("-")
        with contextlib.suppress(OSError):  # another process removes it at the same time
            if pid.isdigit() and folder.stat().st_uid == os.getuid() and _started(int(pid)) != started:
                yield folder


def _old(parent: Path) -> Iterator[Path]:
    prefix = _prefix()
    for folder in parent.glob("headrace-*-*-*-*"):
        with contextlib.suppress(OSError):  # as above
            status = folder.stat()
            own = status.st_uid == os.getuid() and _NAME.fullmatch(folder.name)
            if own and not folder.name.startswith(prefix) and time.time() - status.st_mtime > _KEPT:
                yield folder


def _remove(folders: Iterable[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)

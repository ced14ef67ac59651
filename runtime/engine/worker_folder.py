"""The worker's private folder: the slots' socket, and a folder for each of its drivers.

The driver removes it when the worker was killed; a worker that starts removes those that nobody could remove.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from runtime.kafka.process_identity import own_identity
from runtime.processes import start_time

_LONGEST_SOCKET_PATH = 100  # bytes; the kernel takes 107
_SHORT = "/tmp"  # where the folder for temporary files has too long a name


def make_folder() -> str:
    """A new folder that only this user can enter. Its name says whose it is."""
    for orphan in _orphans():
        shutil.rmtree(orphan, ignore_errors=True)
    prefix = f"{_prefix()}{os.getpid()}-{_started(os.getpid())}-"
    folder = tempfile.mkdtemp(prefix=prefix)
    if len(os.fsencode(socket_path(folder))) <= _LONGEST_SOCKET_PATH:
        return folder
    Path(folder).rmdir()
    return tempfile.mkdtemp(prefix=prefix, dir=_SHORT)


def socket_path(folder: str) -> str:
    """Where slots connect to the worker."""
    return str(Path(folder, "slots.sock"))


def _prefix() -> str:
    """Of workers whose processes can be seen from here: containers may share a folder for temporary files."""
    machine = hashlib.sha256(str(own_identity()["machine"]).encode()).hexdigest()
    return f"headrace-{machine[:8]}-"


def _started(pid: int) -> str:
    return re.sub(r"\W", "", start_time(pid) or "")


def _orphans() -> Iterator[Path]:
    """Folders of this user's workers whose processes have ended."""
    prefix = _prefix()
    for folder in (f for parent in {tempfile.gettempdir(), _SHORT} for f in Path(parent).glob(f"{prefix}*-*-*")):
        pid, started, *_ = folder.name.removeprefix(prefix).split("-")
        with contextlib.suppress(OSError):  # another worker removes it
            if pid.isdigit() and folder.stat().st_uid == os.getuid() and _started(int(pid)) != started:
                yield folder

"""The worker's private folder: the slots' socket, and a folder for each of its drivers.

The driver removes the folder if the worker was killed; a starting worker removes folders left by killed drivers.
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

from runtime.kafka.group.process_identity import own_identity
from runtime.system.processes import start_time

_MAX_SOCKET_PATH = 100  # bytes; the kernel takes 107
_SHORT = "/tmp"  # used if the path in the temporary folder would be too long


def make_folder() -> str:
    """Create a folder that only this user can enter. Its name identifies the worker."""
    for orphan in _orphans():
        shutil.rmtree(orphan, ignore_errors=True)
    prefix = f"{_prefix()}{os.getpid()}-{_started(os.getpid())}-"
    folder = tempfile.mkdtemp(prefix=prefix)
    if len(os.fsencode(socket_path(folder))) <= _MAX_SOCKET_PATH:
        return folder
    Path(folder).rmdir()
    return tempfile.mkdtemp(prefix=prefix, dir=_SHORT)


def socket_path(folder: str) -> str:
    """The path of the socket to which slots connect."""
    return str(Path(folder, "slots.sock"))


def _prefix() -> str:
    """The name prefix for workers whose processes are visible here: containers may share a temporary folder."""
    machine = hashlib.sha256(str(own_identity()["machine"]).encode()).hexdigest()
    return f"headrace-{machine[:8]}-"


def _started(pid: int) -> str:
    return re.sub(r"\W", "", start_time(pid) or "")


def _orphans() -> Iterator[Path]:
    """Folders of workers of this user that have ended."""
    prefix = _prefix()
    for folder in (f for parent in {tempfile.gettempdir(), _SHORT} for f in Path(parent).glob(f"{prefix}*-*-*")):
        pid, started, *_ = folder.name.removeprefix(prefix).split("-")
        with contextlib.suppress(OSError):  # another worker removes it at the same time
            if pid.isdigit() and folder.stat().st_uid == os.getuid() and _started(int(pid)) != started:
                yield folder

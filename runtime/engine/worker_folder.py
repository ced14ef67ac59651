"""The worker's private folder: the slots' socket, and a folder for each of its drivers.

The driver removes it when the worker was killed; a worker that starts removes those that nobody could remove.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from runtime.engine.own_processes import start_time

_PREFIX = "headrace-"
_LONGEST_SOCKET_PATH = 100  # bytes; the kernel takes 107


def make_folder() -> str:
    """A new folder that only this user can enter. Its name says whose it is: headrace-<pid>-<start time>-<random>."""
    _remove_orphans()
    prefix = f"{_PREFIX}{os.getpid()}-{start_time(os.getpid())}-"
    folder = tempfile.mkdtemp(prefix=prefix)
    if len(os.fsencode(socket_path(folder))) <= _LONGEST_SOCKET_PATH:
        return folder
    shutil.rmtree(folder)
    return tempfile.mkdtemp(prefix=prefix, dir="/tmp")


def socket_path(folder: str) -> str:
    """Where slots connect to the worker."""
    return str(Path(folder, "slots.sock"))


def _remove_orphans() -> None:
    for folder in _orphans():
        shutil.rmtree(folder, ignore_errors=True)


def _orphans() -> Iterator[Path]:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*-*"):
        pid, started, *_ = folder.name.removeprefix(_PREFIX).split("-")
        if pid.isdigit() and folder.stat().st_uid == os.getuid() and start_time(int(pid)) != started:
            yield folder

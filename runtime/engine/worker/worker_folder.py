"""The worker's private folder: the sockets of the slots and of Spark, and a folder for each of its drivers.

The driver removes the folder if the worker was killed.
"""

from __future__ import annotations

from pathlib import Path

from runtime.system import process_folder

_SOCKET = "slots.sock"
_SPARKS_SOCKET = f".{36 * '_'}.sock"
"""Spark names its sockets after UUIDs."""


def make_folder() -> str:
    """Create a folder that only this user can enter. Its name identifies the worker."""
    return process_folder.make_folder(_SPARKS_SOCKET)


def socket_path(folder: str) -> str:
    """The path of the socket to which slots connect."""
    return str(Path(folder, _SOCKET))

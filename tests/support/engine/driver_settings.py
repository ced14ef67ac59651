"""Settings of a driver whose parts are tested without a worker."""

from __future__ import annotations

from pathlib import Path

from runtime.engine.protocol.settings import DriverSettings


def driver_settings(folder: Path) -> DriverSettings:
    """Those of a local driver with this folder."""
    return DriverSettings(
        generation=1, slots=[], executors=[], master="local[2]", conf={}, folder=str(folder),
        socket=str(folder.parent / "slots.sock"), lease_ttl=1, runner="", archive=False, java_heap=64,
        java_options=[], plugin_path=[], file_paths=[], record=False,
    )  # fmt: skip

"""The folder with the rows of a stream."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.spark.source import stream_reader as module
from runtime.spark.source.stream_reader import Spool


def test_the_folder_of_a_stream_without_records_stays_young(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = Spool(str(tmp_path))
    (folder,) = tmp_path.iterdir()
    os.utime(folder, (1, 1))
    spool.keep()
    assert folder.stat().st_mtime == 1
    monkeypatch.setattr(module, "_KEEP_EVERY", 0)
    spool.keep()
    assert folder.stat().st_mtime > 1
    spool.close()
    spool.keep()

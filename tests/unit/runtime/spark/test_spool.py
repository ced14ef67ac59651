"""The folder with the rows of a stream."""

from __future__ import annotations

import os
from pathlib import Path

from runtime.spark.source.stream_reader import Spool


def test_the_folder_of_a_stream_without_records_stays_young(tmp_path: Path) -> None:
    resting = Spool(str(tmp_path))
    (folder,) = tmp_path.iterdir()
    os.utime(folder, (1, 1))
    resting.keep()
    assert folder.stat().st_mtime == 1
    resting.close()
    spool = Spool(str(tmp_path), keep_every=0)
    (folder,) = tmp_path.iterdir()
    os.utime(folder, (1, 1))
    spool.keep()
    assert folder.stat().st_mtime > 1
    spool.close()
    spool.keep()

"""The batches of a stream on disk, from which Spark's readers take their rows."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from runtime.api.errors import ConfigError, ConnectError
from runtime.spark.source.chunk import PolledChunk
from runtime.system.process_folder import make_folder, make_folder_in

_ROWS = 65_536  # of an Arrow batch, at most


@dataclass
class SpooledRows(InputPartition):
    """The rows of one task in one batch: an Arrow file."""

    path: str

    def read(self) -> Iterator[Any]:
        """The rows as Arrow batches. ConnectError if this machine does not have the file."""
        try:
            with pa.memory_map(self.path) as source, pa.ipc.open_file(source) as file:
                for number in range(file.num_record_batches):
                    yield file.get_batch(number)
        except FileNotFoundError:
            raise ConnectError(
                f"{self.path} does not exist on this machine: set headrace.spool.path to a folder that Spark's driver "
                "and all executors share"
            ) from None


class Spool:
    """A private folder with a file for each task of each batch; removed by close(), or by the next stream if this
    process is killed."""

    def __init__(self, parent: str, keep_every: float = 3600) -> None:
        """`parent`: empty for the folder of temporary files; `keep_every`: seconds between two signs of use.
        ConfigError if it is not a folder."""
        self._keep_every = keep_every
        if parent and not Path(parent).is_dir():
            raise ConfigError(f"Option headrace.spool.path={parent}: not a folder; create it, or leave the option out")
        self._folder = Path(make_folder_in(Path(parent)) if parent else make_folder("0"))
        self._number, self._touched = 0, time.monotonic()

    def keep(self) -> None:
        """Show other machines that the folder is in use: they remove old ones. Called by a stream without records."""
        now = time.monotonic()
        if now - self._touched > self._keep_every:
            self._touched = now
            with contextlib.suppress(OSError):
                os.utime(self._folder)

    def write(self, chunks: Sequence[PolledChunk], schema: Any) -> list[SpooledRows]:
        """Write the rows of a batch, which leave memory."""
        by_task: dict[int, list[Any]] = {}
        for chunk in chunks:
            if chunk.rows:
                by_task.setdefault(chunk.task, []).extend(chunk.rows)
            chunk.rows = []
        found = []
        for rows in by_task.values():
            self._number += 1
            path = self._folder / f"{self._number}.arrow"
            table = pa.Table.from_batches(rows, schema).combine_chunks()
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as file:
                file.write_table(table, max_chunksize=_ROWS)
            found.append(SpooledRows(str(path)))
        return found

    def remove(self, rows: Sequence[SpooledRows]) -> None:
        """Remove the files of a committed batch."""
        for one in rows:
            with contextlib.suppress(FileNotFoundError):
                Path(one.path).unlink()

    def close(self) -> None:
        """Remove all files."""
        shutil.rmtree(self._folder, ignore_errors=True)

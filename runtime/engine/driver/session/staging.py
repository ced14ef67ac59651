"""Files of a sink that are staged first and published when the group has committed their offsets.

    <path>/.headrace/<connector>/<task>-<id>/data/…        files as Spark has written them
                                            /batch.json    written last: the offsets of the batch; the batch is complete
    <path>/…                                               published: the same files with the same names

The consumer group decides: a complete batch whose id is the metadata of the committed offset has been committed.
Publishing renames files and may be repeated. Works on every file system of Hadoop; readers ignore names that start with
a dot.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

_FOLDER, _DATA, _MARKER = ".headrace", "data", "batch.json"

Ranges = Mapping[str, Mapping[str, Sequence[int]]]
"""First offset and end of a batch, by topic and partition."""


class StartPosition(NamedTuple):
    """Where a task starts to read a partition: the committed offset and its metadata."""

    topic: str
    partition: int
    offset: int
    metadata: str


class StagedFiles:
    """The staged batches of a connector below a path."""

    def __init__(self, session: Any, path: str, connector: str) -> None:
        self._jvm = session._jvm
        self._root = self._path(path)
        self._fs = self._root.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
        self._folder = self._path(f"{path.rstrip('/')}/{_FOLDER}/{quote(connector, safe='')}")

    def exists(self) -> bool:
        """Whether the path exists."""
        return bool(self._fs.exists(self._root))

    def data_path(self, batch: str) -> str:
        """The folder to which Spark writes the files of a batch."""
        return str(self._path(self._folder, batch, _DATA).toString())

    def begin(self, batch: str) -> None:
        """Remove what an earlier attempt has written."""
        self._fs.delete(self._path(self._folder, batch), True)

    def complete(self, batch: str, ranges: Ranges) -> None:
        """Store that all files of a batch have been written. Atomic."""
        marker = self._path(self._folder, batch, _MARKER)
        written = self._path(self._folder, batch, f"{_MARKER}.tmp")
        stream = self._fs.create(written, True)
        try:
            stream.write(bytearray(json.dumps(ranges).encode()))
        finally:
            stream.close()
        self._fs.delete(marker, False)
        if not self._fs.rename(written, marker):
            raise OSError(f"Cannot rename {written.toString()} to {marker.toString()}")

    def publish(self, batch: str) -> int:
        """Move the files of a batch to their place, and return their number. Files that have been moved already are
        skipped, so that it may be repeated and run twice at the same time."""
        folder, data = self._path(self._folder, batch), self._path(self._folder, batch, _DATA)
        moved = sum(self._move(data, file) for file in list(self._files(data)))
        self._fs.delete(folder, True)
        return moved

    def discard(self, batch: str) -> None:
        """Remove a batch that has not been committed."""
        self._fs.delete(self._path(self._folder, batch), True)

    def resolve(
        self, task: int, positions: Sequence[StartPosition], live: Sequence[str]
    ) -> tuple[list[str], list[str]]:
        """Publish or discard what earlier runs have left: incomplete batches of this task, and complete ones with one
        of the partitions. `live`: batches of this run, which are left alone. Returns the batches published and
        discarded."""
        published: list[str] = []
        discarded: list[str] = []
        for batch in self._batches():
            if batch in live:
                continue
            ranges = self._ranges(batch)
            if ranges is None:
                verdict = False if batch.startswith(f"{task}-") else None
            else:
                verdict = is_committed(batch, ranges, positions)
            if verdict is not None:
                (self.publish if verdict else self.discard)(batch)
                (published if verdict else discarded).append(batch)
        return published, discarded

    def _batches(self) -> list[str]:
        if not self._fs.exists(self._folder):
            return []
        return [str(status.getPath().getName()) for status in self._fs.listStatus(self._folder)]

    def _ranges(self, batch: str) -> Ranges | None:
        """The offsets of a complete batch; None if it is incomplete."""
        marker = self._path(self._folder, batch, _MARKER)
        if not self._fs.exists(marker):
            return None
        stream = self._fs.open(marker)
        try:
            found: Ranges = json.loads(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()
        return found

    def _files(self, data: Any) -> Iterator[Any]:
        if not self._fs.exists(data):
            return
        files = self._fs.listFiles(data, True)
        while files.hasNext():
            path = files.next().getPath()
            if not path.getName().startswith(("_", ".")):
                yield path

    def _move(self, data: Any, file: Any) -> bool:
        relative = str(file.toUri().getPath())[len(str(data.toUri().getPath())) + 1 :]
        target = self._path(self._root, relative)
        if "/" in relative:
            self._fs.mkdirs(target.getParent())
        failure: Exception | None = None
        try:
            if self._fs.rename(file, target):
                return True
        except Exception as error:  # of Hadoop's file systems; another task may be moving the same file
            failure = error
        if self._fs.exists(target) and not self._fs.exists(file):
            return False
        raise OSError(f"Cannot rename {file.toString()} to {target.toString()}") from failure

    def _path(self, first: Any, *names: str) -> Any:
        path = self._jvm.org.apache.hadoop.fs.Path(first) if isinstance(first, str) else first
        for name in names:
            path = self._jvm.org.apache.hadoop.fs.Path(path, name)
        return path


def is_committed(batch: str, ranges: Ranges, positions: Sequence[StartPosition]) -> bool | None:
    """Whether the offsets of a complete batch have been committed; None if it has none of these partitions.

    If offsets were altered after the task was killed, the metadata is gone. Then the records before the new offset may
    have been committed, and publishing them loses nothing; records that are read again are discarded."""
    found = [
        (position, ranges[position.topic][str(position.partition)])
        for position in positions
        if str(position.partition) in ranges.get(position.topic, {})
    ]
    if not found:
        return None
    if any(position.metadata == batch for position, _ in found):
        return True
    return any(not position.metadata and position.offset > start for position, (start, _) in found)

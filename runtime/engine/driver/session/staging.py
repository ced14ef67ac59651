"""Batches of a sink that are staged first and published when the group has committed their offsets.

The consumer group decides: a complete batch whose id is the metadata of the committed offset has been committed. How
batches are staged depends on the target; files are staged beside their place:

    <path>/.headrace/<connector>/<task>-<id>/data/…        files as Spark has written them
                                            /batch.json    written last: the offsets of the batch; the batch is complete
    <path>/…                                               published: the same files with the same names

Publishing renames files and may be repeated. Works on every file system of Hadoop; readers ignore names that start with
a dot.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from runtime.engine.driver.session.frames import format_name
from runtime.engine.driver.session.hadoop_changes import create_folder, delete, rename

_FOLDER, _DATA, _MARKER = ".headrace", "data", "batch.json"

Ranges = Mapping[str, Mapping[str, Sequence[int]]]
"""First offset and end of a batch, by topic and partition."""


class StartPosition(NamedTuple):
    """Where a task starts to read a partition: the committed offset and its metadata."""

    topic: str
    partition: int
    offset: int
    metadata: str


class StagedBatches(ABC):
    """The staged batches of a connector. Every method may be repeated, and run in several processes at once."""

    @abstractmethod
    def stage(self, batch: str, frame: Any, ranges: Ranges) -> None:
        """Write the rows of a batch so that readers do not see them, instead of what an earlier attempt has written."""

    @abstractmethod
    def publish(self, batch: str) -> bool:
        """Make a batch visible. False if it is not staged: it is visible already, or was removed with its target."""

    @abstractmethod
    def discard(self, batch: str) -> None:
        """Remove a batch that has not been committed."""

    @abstractmethod
    def batches(self) -> list[str]:
        """The batches that are staged, also incomplete ones."""

    @abstractmethod
    def ranges(self, batch: str) -> Ranges | None:
        """The offsets of a complete batch; None if it is incomplete."""

    def is_committed(self, batch: str, task: int, positions: Sequence[StartPosition]) -> bool | None:
        """Whether to publish a batch of an earlier run, or to discard it; None: another task decides. Incomplete
        batches belong to the task with their number, complete ones to those that have one of the partitions."""
        ranges = self.ranges(batch)
        if ranges is None:
            return False if batch.startswith(f"{task}-") else None
        return is_committed(batch, ranges, positions)


class StagedFiles(StagedBatches):
    """Batches as files below the path of a target. `target` as in requests."""

    def __init__(self, session: Any, target: Mapping[str, Any], connector: str) -> None:
        self._session, self._jvm, self._target = session, session._jvm, target
        path = target["path"]
        self._root = self._path(path)
        self._fs = self._root.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
        self._folder = self._path(f"{path.rstrip('/')}/{_FOLDER}/{quote(connector, safe='')}")

    def stage(self, batch: str, frame: Any, ranges: Ranges) -> None:
        self.discard(batch)
        writer = frame.write.format(format_name(self._session, self._target["format"])).options(
            **self._target["options"]
        )
        if self._target["partition_by"]:
            writer = writer.partitionBy(*self._target["partition_by"])
        writer.option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false").save(self.data_path(batch))
        self.complete(batch, ranges)

    def data_path(self, batch: str) -> str:
        """The folder to which Spark writes the files of a batch."""
        return str(self._path(self._folder, batch, _DATA).toString())

    def store(self, batch: str, name: str, content: Any) -> None:
        """Store JSON in the folder of a batch. Atomic."""
        file, written = self._path(self._folder, batch, name), self._path(self._folder, batch, f"{name}.tmp")
        stream = self._fs.create(written, True)
        try:
            stream.write(bytearray(json.dumps(content).encode()))
        finally:
            stream.close()
        delete(self._fs, file)
        rename(self._fs, written, file)

    def load(self, batch: str, name: str) -> Any:
        """JSON from the folder of a batch; None if it does not exist."""
        file = self._path(self._folder, batch, name)
        if not self._fs.exists(file):
            return None
        stream = self._fs.open(file)
        try:
            return json.loads(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def remove(self, batch: str, name: str) -> None:
        delete(self._fs, self._path(self._folder, batch, name))

    def complete(self, batch: str, ranges: Ranges) -> None:
        """Store that all files of a batch have been written."""
        self.store(batch, _MARKER, ranges)

    def publish(self, batch: str) -> bool:
        """Move the files of a batch to their place. Files that have been moved already are skipped."""
        if not self._fs.exists(self._path(self._folder, batch)):
            self.check_folder()
            return False
        data = self._path(self._folder, batch, _DATA)
        for file in list(self._files(data)):
            self._move(data, file)
        self.discard(batch)
        return True

    def check_folder(self) -> None:
        """FileNotFoundError if the folder of the staged batches is gone, which remains when they are published: its
        file system is not mounted, or it was removed together with the target."""
        if not self._fs.exists(self._folder):
            raise FileNotFoundError(f"The folder {self._folder.toString()} no longer exists; is its disk mounted?")

    def discard(self, batch: str) -> None:
        """The marker is removed first: a kill must not leave a complete batch that has lost some of its files."""
        self.remove(batch, _MARKER)
        delete(self._fs, self._path(self._folder, batch), recursive=True)

    def batches(self) -> list[str]:
        if not self._fs.exists(self._folder):
            return []
        return [str(status.getPath().getName()) for status in self._fs.listStatus(self._folder)]

    def ranges(self, batch: str) -> Ranges | None:
        ranges: Ranges | None = self.load(batch, _MARKER)
        return ranges

    def _files(self, data: Any) -> Iterator[Any]:
        if not self._fs.exists(data):
            return
        files = self._fs.listFiles(data, True)
        while files.hasNext():
            path = files.next().getPath()
            if not path.getName().startswith(("_", ".")):
                yield path

    def _move(self, data: Any, file: Any) -> None:
        relative = str(file.toUri().getPath())[len(str(data.toUri().getPath())) + 1 :]
        target = self._path(self._root, relative)
        if "/" in relative:
            create_folder(self._fs, target.getParent())
        try:
            rename(self._fs, file, target)
        except Exception as error:  # also of Hadoop's file systems; another task may have moved the same file
            if not self._fs.exists(target) or self._fs.exists(file):
                raise OSError(f"Cannot rename {file.toString()} to {target.toString()}") from error

    def _path(self, first: Any, *names: str) -> Any:
        path = self._jvm.org.apache.hadoop.fs.Path(first) if isinstance(first, str) else first
        for name in names:
            path = self._jvm.org.apache.hadoop.fs.Path(path, name)
        return path


def is_committed(batch: str, ranges: Ranges, positions: Sequence[StartPosition]) -> bool | None:
    """Whether the offsets of a complete batch have been committed; None if it has none of these partitions.

    If offsets were altered after the task was killed, the metadata is gone. Then the records before the new offset may
    have been committed, and publishing them loses nothing; records that are read again are discarded."""
    committed = [
        (position, ranges[position.topic][str(position.partition)])
        for position in positions
        if str(position.partition) in ranges.get(position.topic, {})
    ]
    if not committed:
        return None
    if any(position.metadata == batch for position, _ in committed):
        return True
    return any(not position.metadata and position.offset > start for position, (start, _) in committed)

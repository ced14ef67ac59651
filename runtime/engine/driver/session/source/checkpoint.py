"""The checkpoint of a source: Spark's progress and the batch that is being committed.

    <spark.checkpoint>/<connector>/<checkpoint>/query/     Spark's: offsets/<batch>, commits/<batch>, sources, state
                                               /spool/<batch>/<spool>/*.parquet   the rows of a batch
                                                                     /_SUCCESS    written last: they are complete
                                               /committed  offsets of this checkpoint have been committed
                                               /query.json the query of a KafkaQuery and where it started

The committed offset of the connector decides: it names the checkpoint and the batch, and everything that Spark has
stored beyond them is removed. Every step may be repeated. A reset connector has no offset and starts with another
checkpoint; the one before is kept until the next reset, so that the reset can be undone. Each attempt to spool a batch
has a folder of its own, which offsets within the batch name: a driver that was stopped for a while cannot replace rows
of which its successor has sent a part.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from runtime.connectors.spark.source.position import repeat_advice
from runtime.engine.driver.session.hadoop_changes import create_folder, delete, rename


class HadoopFolder:
    """Files and folders below a path; names are relative to it. A change that fails raises OSError. Thread-safe."""

    def __init__(self, session: Any, path: str, *names: str) -> None:
        self._session, self._jvm = session, session._jvm
        self._root = _path(self._jvm, path, names)
        self._fs = self._root.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())

    def below(self, *names: str) -> HadoopFolder:
        """A folder below this one, which need not exist."""
        return HadoopFolder(self._session, str(self._root.toString()), *names)

    def uri(self, *names: str) -> str:
        """The full URI, as Spark takes it."""
        return str(self._fs.makeQualified(self._at(names)).toString())

    def exists(self, *names: str) -> bool:
        """Whether the file or folder exists."""
        return bool(self._fs.exists(self._at(names)))

    def names(self, *names: str) -> list[str]:
        """The names in a folder; empty if it does not exist."""
        if not self.exists(*names):
            return []
        return [str(status.getPath().getName()) for status in self._fs.listStatus(self._at(names))]

    def create(self, *names: str) -> None:
        """Create a folder with its parents."""
        create_folder(self._fs, self._at(names))

    def delete(self, *names: str) -> None:
        """Delete a file or a folder with its content, if it exists."""
        delete(self._fs, self._at(names), recursive=True)

    def local(self, *names: str) -> str | None:
        """The path if the file system is that of this machine."""
        uri = self._fs.makeQualified(self._at(names)).toUri()
        return str(uri.getPath()) if uri.getScheme() == "file" else None

    def read(self, *names: str) -> str | None:
        """The text of a file; None if it does not exist."""
        self._recover(names)
        if not self.exists(*names):
            return None
        stream = self._fs.open(self._at(names))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, text: str, *names: str) -> None:
        """Write a file, which has the whole text or does not exist. An existing one is replaced: read() gives the text
        before or the new one, wherever a driver is killed."""
        self._recover(names)
        hidden, ready = (*names[:-1], f".{names[-1]}.{uuid4().hex[:8]}"), _ready(names)
        stream = self._fs.create(self._at(hidden), True)
        stream.write(text.encode())
        stream.close()
        delete(self._fs, self._at(ready))
        rename(self._fs, self._at(hidden), self._at(ready))
        delete(self._fs, self._at(names))
        rename(self._fs, self._at(ready), self._at(names))

    def _recover(self, names: Sequence[str]) -> None:
        """Finish a write() that was interrupted: Hadoop does not rename over a file."""
        if not self.exists(*names) and self.exists(*_ready(names)):
            rename(self._fs, self._at(_ready(names)), self._at(names))

    def copy_to(self, local: str, *names: str) -> None:
        """Copy a file to a path on this machine."""
        target = _path(self._jvm, f"file://{local}", ())
        self._fs.copyToLocalFile(False, self._at(names), target, True)

    def _at(self, names: Sequence[str]) -> Any:
        return _path(self._jvm, self._root, names)


def _ready(names: Sequence[str]) -> tuple[str, ...]:
    """The place of a whole file that is about to replace another."""
    return (*names[:-1], f".{names[-1]}.ready")


def _path(jvm: Any, first: Any, names: Sequence[str]) -> Any:
    path = jvm.org.apache.hadoop.fs.Path(first) if isinstance(first, str) else first
    for name in names:
        path = jvm.org.apache.hadoop.fs.Path(path, name)
    return path


def _number_of(checkpoint: str) -> int:
    """The number in the name of a checkpoint; 0 for another name."""
    match = _NAME.fullmatch(checkpoint)
    return int(match[1], 16) if match else 0


_QUERY, _SPOOL, _COMMITTED, _TEXT = "query", "spool", "committed", "query.json"
_OFFSETS, _COMMITS, _STATE = (_QUERY, "offsets"), (_QUERY, "commits"), (_QUERY, "state")
_NAME = re.compile(r"([0-9a-f]+)-[0-9a-f]{8}")
_VERSION = re.compile(r"(\d+)[._].*")  # of a state: 12.delta, 10.snapshot, 12.zip, 12_<id>.changelog
_COMPLETE = "_SUCCESS"  # Spark's marker; a folder cannot be renamed atomically on an object store
_WITH_MARKER = "mapreduce.fileoutputcommitter.marksuccessfuljobs"


class CheckpointError(Exception):
    """The checkpoint does not have the committed position."""


class SourceCheckpoint:
    """The checkpoint of a connector's source."""

    def __init__(self, folder: HadoopFolder, name: str) -> None:
        self.name = name
        self._folder = folder.below(name)
        self._resumed: tuple[int, str] | None = None  # batch and spool of the committed position

    @classmethod
    def create(cls, folder: HadoopFolder) -> SourceCheckpoint:
        """A new checkpoint in the folder of a connector that has no committed offset. Of the earlier ones only the last
        one remains whose offsets have been committed."""
        earlier = sorted(folder.names())
        used = [name for name in earlier if folder.exists(name, _COMMITTED)]
        for name in earlier:
            if name not in used[-1:]:
                folder.delete(name)
        # The last name of all, also within a second, and if the clock has been set back.
        number = max([int(time.time()), *(_number_of(name) + 1 for name in earlier)])
        made = cls(folder, f"{number:x}-{uuid4().hex[:8]}")
        made._folder.create(_SPOOL)
        return made

    @classmethod
    def open(cls, folder: HadoopFolder, name: str) -> SourceCheckpoint:
        """An existing checkpoint in the folder of its connector. CheckpointError if it is gone."""
        if not folder.exists(name):
            raise CheckpointError(
                f"The checkpoint {folder.uri(name)} of the committed offset does not exist. Restore the folder, or "
                "reset the offset of the connector to read from the start"
            )
        return cls(folder, name)

    @property
    def place(self) -> str:
        """The URI of the folder."""
        return self._folder.uri()

    @property
    def query_folder(self) -> str:
        """The checkpoint location of the streaming query."""
        return self._folder.uri(_QUERY)

    def rewind(self, batch: int, rows: int, spool: str, streaming: bool) -> None:
        """Remove everything behind the committed position: `rows` rows in a spool of a batch, or the whole batch if
        that is 0. CheckpointError if the reading cannot continue there."""
        if rows:
            if not self._is_complete(batch, spool):
                raise CheckpointError(
                    f"The rows of batch {batch} in the spool {spool} no longer exist, so reading cannot continue "
                    f"within it. {repeat_advice(batch)}"
                )
            self._resumed = (batch, spool)
        done = batch - 1 if rows else batch
        if streaming:
            self._rewind_query(batch, done)
        for number in self._numbers(_SPOOL):
            if number != done + 1:
                self._folder.delete(_SPOOL, str(number))

    def _rewind_query(self, batch: int, done: int) -> None:
        planned = self._numbers(*_OFFSETS)
        if batch not in planned:
            known = f"{planned[0]} to {planned[-1]}" if planned else "none"
            raise CheckpointError(
                f"The checkpoint {self.place} does not have batch {batch} of the committed offset; it has: {known}. "
                "Set the offset to one of them, or reset it to read from the start"
            )
        for number in reversed(self._numbers(*_COMMITS)):
            if number > done:
                self._folder.delete(*_COMMITS, str(number))
        for number in reversed(planned):
            if number > done + 1:  # the batch behind the position keeps its range
                self._folder.delete(*_OFFSETS, str(number))
        for version, file in self._states():
            if version > done + 1:  # a later snapshot would replace what the batches compute now
                self._folder.delete(*_STATE, *file)

    def _states(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The files of state with their versions: version n is the state before batch n. They lie in a folder for each
        partition of each operator, or below it in a folder for each store of a join."""
        partitions = ((operator, number) for operator in self._digits(*_STATE)
                      for number in self._digits(*_STATE, operator))  # fmt: skip
        for place in partitions:
            for name in self._folder.names(*_STATE, *place):
                if match := _VERSION.fullmatch(name):
                    yield int(match[1]), (*place, name)
                elif not name.startswith(("_", ".")):
                    for file in self._folder.names(*_STATE, *place, name):
                        if match := _VERSION.fullmatch(file):
                            yield int(match[1]), (*place, name, file)

    def _digits(self, *names: str) -> list[str]:
        return [name for name in self._folder.names(*names) if name.isdigit()]

    def spooled(self, batch: int) -> str | None:
        """The spool with the rows of a batch; None if they are not complete."""
        if self._resumed is not None and self._resumed[0] == batch:
            return self._resumed[1]
        names = self._folder.names(_SPOOL, str(batch))
        return next((name for name in names if self._is_complete(batch, name)), None)

    def spool(self, frame: Any, batch: int) -> str:
        """Write the rows of a batch to a new spool, whose name is returned."""
        name = uuid4().hex[:8]
        frame.write.option(_WITH_MARKER, "true").parquet(self._folder.uri(_SPOOL, str(batch), name))
        return name

    def files(self, batch: int, spool: str, local_folder: str) -> list[str]:
        """The files of a batch on this machine, in the order of their rows; copied if the checkpoint is elsewhere."""
        place = (_SPOOL, str(batch), spool)
        names = [name for name in self._folder.names(*place) if not name.startswith(("_", "."))]
        paths = []
        for name in sorted(names, key=lambda name: (len(name), name)):
            path = self._folder.local(*place, name)
            if path is None:
                path = f"{local_folder}/{name}"
                self._folder.copy_to(path, *place, name)
            paths.append(path)
        return paths

    def remove(self, batch: int) -> None:
        """Remove the rows of a batch that has been committed."""
        self._folder.delete(_SPOOL, str(batch))

    def stored_query(self) -> str | None:
        """What store_query() has stored; None before that."""
        return self._folder.read(_TEXT)

    def store_query(self, text: str) -> None:
        """Store the text that describes the query of this checkpoint."""
        self._folder.write(text, _TEXT)

    def mark_committed(self) -> None:
        """Note that offsets of this checkpoint have been committed."""
        self._folder.create(_COMMITTED)

    def _is_complete(self, batch: int, spool: str) -> bool:
        return self._folder.exists(_SPOOL, str(batch), spool, _COMPLETE)

    def _numbers(self, *names: str) -> list[int]:
        return sorted(int(name) for name in self._folder.names(*names) if name.isdigit())

"""FileStreamSource reads the lines of a growing file."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from runtime.api.config.definition import ConfigDef, ConfigKey, ConfigType, Importance
from runtime.api.config.validators import non_empty
from runtime.api.connector import ExactlyOnceSupport, SourceConnector
from runtime.api.data.batch import SourceBatch
from runtime.api.data.columns import ValueBatch
from runtime.api.data.record import SourceRecord
from runtime.api.data.schema import STRING_SCHEMA
from runtime.api.errors import ConfigError, ConnectError
from runtime.api.task import AlteredOffsets, Offset, Partition, SourceTask
from runtime.connectors.file_lines import LineBuffer, Lines
from runtime.connectors.file_watch import Follower, file_watcher
from runtime.system.allowed_folders import allowed_folders

FILE, TOPIC, BATCH_SIZE = "file", "topic", "batch.size"
FILENAME, POSITION = "filename", "position"
_CHUNK = 1024 * 1024
_CHECK_INTERVAL = 0.1  # seconds between checks of a quiet file
_CHECK_INTERVAL_WATCHED = 60.0  # if its changes are reported
_QUIET = 2.0  # seconds without growth after which a replaced file is considered complete

_log = logging.getLogger(__name__)


class FileStreamSourceTask(SourceTask):
    """Follows one file from the committed position, in bytes. Bytes that are not UTF-8 become surrogate escapes.

    Waits for a file that does not exist. If the file becomes shorter than the position, it was truncated, and the task
    reads it again from the start. If another file takes its name (rotation by renaming), the task reads the old file to
    its end and then the new file from the start. After a restart the task only compares the position with the size.
    """

    java_name = "org.apache.kafka.connect.file.FileStreamSourceTask"
    reuses_records = False
    timestamps_are_now = True

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """`clock` in seconds measures how long the file has not grown."""
        super().__init__()
        self._clock = clock

    def start(self, config: Mapping[str, str]) -> None:
        self._path = config[FILE]
        self._topic = config[TOPIC]
        self._batch_size = int(config.get(BATCH_SIZE) or 2000)
        self._partition = {FILENAME: self._path}
        self._fd: int | None = None
        self._missed = self._watched = False
        self._follower: Follower | None = None
        self._grew = self._clock()
        self._lines = LineBuffer(_position(self.context.offsets.offset(self._partition)))
        self._ready = Lines([], self._lines.position)
        self._next, self._at = 0, self._lines.position

    def poll(self) -> Sequence[SourceRecord] | None:
        if self._next >= len(self._ready):
            self._ready = self._read()
            self._next, self._at = 0, self._ready.start
        lines = self._ready.slice(self._next, self._batch_size, self._at)
        if not lines:
            return None
        self._next += len(lines)
        self._at = lines.end
        values, now = ValueBatch.texts(STRING_SCHEMA, lines.texts), int(time.time() * 1000)
        return SourceBatch(self._partition, lambda n: {POSITION: lines.position(n)}, self._topic, values, now)

    def stop(self) -> None:
        self._close()
        follower = getattr(self, "_follower", None)
        if follower is not None and (watcher := file_watcher()) is not None:
            watcher.cancel(follower)

    def _close(self) -> None:
        fd, self._fd = getattr(self, "_fd", None), None
        if fd is not None:
            os.close(fd)

    def _read(self) -> Lines:
        """The lines of the next block; none if the file has not grown."""
        if self._fd is None and not self._open() and (not self._watch() or not self._open()):
            self.idle_poll = _CHECK_INTERVAL_WATCHED if self._watched else _CHECK_INTERVAL
            return self._none()
        assert self._fd is not None
        while block := self._block(self._fd):
            self._grew = self._clock()
            if lines := self._lines.feed(block):
                return lines  # otherwise its only line goes on: a poll without records would be followed by a pause
        return self._at_end(self._fd)

    def _block(self, fd: int) -> bytes:
        try:
            block = os.pread(fd, _CHUNK, self._lines.end)
            if not block and self._watch():  # data that arrived before the watch is not reported
                block = os.pread(fd, _CHUNK, self._lines.end)
        except OSError as error:
            raise ConnectError(f"Cannot read {self._path}: {error.strerror}") from error
        return block

    def _watch(self) -> bool:
        """Requests a report of the next change; True if no request was pending."""
        if self._watched or (watcher := file_watcher()) is None:
            return False
        self._watched = True
        self._follower = watcher.watch_once(self._path, self._changed)
        return True

    def _changed(self) -> None:
        self._watched = False
        self.context.wake()

    def _open(self) -> bool:
        try:
            self._fd = allowed_folders().open(self._path, os.O_RDONLY | os.O_NONBLOCK)
        except FileNotFoundError:
            if not self._missed:
                _log.warning("%s does not exist; waiting for it", self._path)
            self._missed = True
            return False
        except OSError as error:
            raise ConnectError(f"Cannot open {self._path}: {error.strerror}") from error
        _log.debug("Opened %s at position %d", self._path, self._lines.end)
        self._missed = False
        return True

    def _none(self) -> Lines:
        return Lines([], self._lines.position)

    def _at_end(self, fd: int) -> Lines:
        """Checks at the end of the file whether it was truncated or replaced."""
        self.idle_poll = _CHECK_INTERVAL
        opened = os.fstat(fd)
        if opened.st_size < self._lines.end:
            _log.warning(
                "%s was truncated to %d bytes after %d bytes were read; reading it from the start%s",
                self._path,
                opened.st_size,
                self._lines.end,
                f". Discarded an unterminated line of {self._lines.rest_size} bytes" if self._lines.rest_size else "",
            )
            self._lines = LineBuffer(0)
            return self._none()
        try:
            named = Path(self._path).stat()
        except FileNotFoundError:
            return self._none()  # renamed or deleted; it may still grow until its successor appears
        if (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino):
            self.idle_poll = _CHECK_INTERVAL_WATCHED if self._watched else _CHECK_INTERVAL
            return self._none()
        if self._clock() - self._grew < _QUIET:
            return self._none()
        return self._replaced()

    def _replaced(self) -> Lines:
        """Switches to the file that now has the name, after reading the current file to its end. The position after the
        last line is the start of the new file."""
        end = self._lines.end
        last = self._lines.finish()
        _log.info("%s was replaced: read the old file to its end at %d, reading the new file", self._path, end)
        self._close()
        self._lines = LineBuffer(0)
        return Lines(last, 0, [0] * len(last))


def _position(offset: Offset | None) -> int:
    if offset is None or offset.get(POSITION) is None:
        return 0
    position = offset[POSITION]
    if not isinstance(position, int) or isinstance(position, bool) or position < 0:
        raise ConnectError(
            f"The committed offset has an invalid '{POSITION}', which must be a number of bytes: {position!r}"
        )
    return position


class FileStreamSourceConnector(SourceConnector):
    """Runs one task, which follows one file."""

    java_name = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    task_class = FileStreamSourceTask
    config_def = ConfigDef(
        ConfigKey(FILE, ConfigType.STRING, None, Importance.HIGH, "File to follow. It may appear later."),
        ConfigKey(TOPIC, ConfigType.STRING, importance=Importance.HIGH, doc="Topic for the lines.",
             validator=non_empty),
        ConfigKey(BATCH_SIZE, ConfigType.INT, 2000, Importance.LOW, "Maximum number of lines in a batch."),
    )  # fmt: skip

    def start(self, config: Mapping[str, str]) -> None:
        if not config.get(FILE):
            raise ConfigError(
                f'Missing required configuration "{FILE}": a task runs in the background and has no standard input'
            )
        super().start(config)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED if config.get(FILE) else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: AlteredOffsets) -> bool:
        if not config.get(FILE):
            raise ConnectError(
                f"Offsets cannot be modified if the '{FILE}' configuration is unspecified. "
                "This is because stdin is used for input and offsets are not tracked."
            )
        for partition, offset in offsets:
            _check_plain({**(partition or {}), **(offset or {})})
            if offset is None:  # any partition may be reset, even an invalid one
                continue
            _check_partition(partition)
            _check_offset(offset)
        return True


def _check_plain(values: Mapping[str, object]) -> None:
    """Refuses nested values, which Java workers cannot write, so that they can take over the cluster again."""
    for name, value in values.items():
        if isinstance(value, dict | list):
            kind = "MAP" if isinstance(value, dict) else "ARRAY"
            raise ConnectError(f"Offsets may only contain primitive types as values, but field {name} contains {kind}")


def _check_partition(partition: Partition | None) -> None:
    if partition is None:
        raise ConnectError("Partition objects cannot be null")
    if FILENAME not in partition:
        raise ConnectError(f"Partition objects should contain the key '{FILENAME}'")


def _check_offset(offset: Offset) -> None:
    if POSITION not in offset:
        raise ConnectError(f"Offset objects should either be null or contain the key '{POSITION}'")
    position = offset[POSITION]
    if not isinstance(position, int) or isinstance(position, bool):
        raise ConnectError(f"The value for the '{POSITION}' key in the offset is expected to be a Long value")
    if position < 0:
        raise ConnectError(f"The value for the '{POSITION}' key in the offset should be a non-negative value")

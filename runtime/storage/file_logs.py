"""The logs of a standalone worker: offsets and their journal in files, everything else in memory."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence

from runtime.kafka.cluster_monitor import ClusterMonitor
from runtime.kafka.log.log import Apply, Awaited, LogRecord, TopicSpec, Written
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.storage.file_offsets import OffsetsFile
from runtime.storage.java_map import Bytes
from runtime.system.loop_turns import LoopTurns

_Record = tuple[bytes, "bytes | None"]


class MemoryLog:
    """A log whose records are applied at once and not stored."""

    def __init__(self, spec: TopicSpec, apply: Apply) -> None:
        self.spec, self._apply = spec, apply
        self._end = 0

    async def write_all(self, records: Sequence[_Record], writer: TransactionalWriter | None = None) -> None:
        self._append(records)

    def send(self, key: bytes, value: bytes | None) -> asyncio.Future[Written]:
        written: asyncio.Future[Written] = asyncio.get_running_loop().create_future()
        written.set_result((0, self._end))
        self._append([(key, value)])
        return written

    async def write_acknowledged(self, records: Sequence[_Record], writer: TransactionalWriter | None = None) -> None:
        """As write_all(): there are no transactions."""
        await self.write_all(records, writer)

    async def read_to_end(self, awaited: Awaited | None = None) -> None:
        """Does nothing: there are no other writers."""

    def _append(self, records: Sequence[tuple[Bytes, Bytes]]) -> None:
        now, first = int(time.time() * 1000), self._end
        self._end += len(records)
        self._apply([LogRecord(key, value, 0, first + i, now) for i, (key, value) in enumerate(records)])


class FileLog(MemoryLog):
    """A log that keeps the latest record of each key in a file. A write is applied after it is in the file."""

    def __init__(self, spec: TopicSpec, apply: Apply, file: OffsetsFile) -> None:
        super().__init__(spec, apply)
        self._file = file
        self._entries: dict[Bytes, Bytes] = {}
        self._writing = asyncio.Lock()

    def load(self) -> None:
        """Apply the entries of the file; OffsetsFileError if the file cannot be used."""
        self._entries = self._file.load()
        self._append(list(self._entries.items()))

    async def write_all(self, records: Sequence[_Record], writer: TransactionalWriter | None = None) -> None:
        """Write records, then apply them. OffsetsFileError if the file cannot be written; then no record is applied."""
        await asyncio.shield(self._write(records))  # so that file and memory agree even if the caller is cancelled

    def send(self, key: bytes, value: bytes | None) -> asyncio.Future[Written]:
        return asyncio.ensure_future(self._write([(key, value)]))

    async def read_to_end(self, awaited: Awaited | None = None) -> None:
        async with self._writing:
            return

    async def _write(self, records: Sequence[_Record]) -> Written:
        async with self._writing:
            after = self._entries.copy()
            after.update(records)
            after = {key: value for key, value in after.items() if value is not None}
            await asyncio.to_thread(self._file.save, after)
            self._entries, turns = after, LoopTurns()
            for record in records:
                self._append([record])
                await turns.next()
            return 0, self._end - 1


class FileLogs:
    """Opens the logs of a standalone worker. `files` are the persistent logs, by topic name."""

    def __init__(self, cluster: ClusterMonitor, files: Mapping[str, OffsetsFile]) -> None:
        self._cluster, self._files = cluster, files
        self._kept: list[FileLog] = []

    @property
    def cluster_id(self) -> str:
        return self._cluster.cluster_id

    @property
    def error(self) -> str:
        return self._cluster.error

    def open(self, spec: TopicSpec, apply: Apply) -> MemoryLog:
        if spec.topic not in self._files:
            return MemoryLog(spec, apply)
        kept = FileLog(spec, apply, self._files[spec.topic])
        self._kept.append(kept)
        return kept

    async def start(self) -> None:
        for log in self._kept:
            log.load()
        await self._cluster.start()

    async def close(self) -> None:
        for log in self._kept:
            await log.read_to_end()
        await self._cluster.close()

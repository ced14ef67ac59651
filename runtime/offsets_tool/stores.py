"""OfflineStore: access to the offsets of a stopped cluster, one interface for both kinds of worker."""

from __future__ import annotations

import asyncio
import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import orjson

from runtime.config.properties import comma_separated
from runtime.herder.errors import BadRequest
from runtime.herder.offsets.sink_offsets import parse_sink_offsets
from runtime.herder.offsets.stored_offsets import OFFSET, PARTITION, TOPIC, sink_entry, topic_partitions
from runtime.kafka.log.log import Apply, TopicSpec
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.offsets_tool.cluster import OfflineCluster, cluster
from runtime.offsets_tool.codec import OffsetCodec, canonical
from runtime.offsets_tool.collection import Offsets
from runtime.offsets_tool.document import Document, ImportedOffsets
from runtime.offsets_tool.errors import BadInput, ToolError
from runtime.offsets_tool.plan import ImportChange, names_topic, records
from runtime.storage.file_logs import MemoryLog
from runtime.storage.file_offsets import OffsetsFile, OffsetsFileError
from runtime.storage.journal import ChangeOrigin, OffsetAction, OffsetEntry, OffsetJournal, PlannedChange

Record = tuple[bytes, "bytes | None"]

_TOOL = ChangeOrigin("headrace offsets", "import")


class OfflineJournal:
    """Reads the records of a journal, and creates the records that change it."""

    def __init__(self, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        self._journal = OffsetJournal(self, TopicSpec("", 1, 1, "", single=True))
        self._log.append([(key or b"", value) for key, value in records])

    def open(self, spec: TopicSpec, apply: Apply) -> MemoryLog:
        self._log = _Written(spec, apply)
        return self._log

    def of_workers(self) -> list[str]:
        """Connectors whose offsets a worker was changing when it ended. The next worker finishes the change."""
        return sorted(i.connector for i in self._journal.all_pending() if i.origin.who != _TOOL.who)

    def of_imports(self) -> list[PlannedChange]:
        """Removals that interrupted imports have left."""
        return [i for i in self._journal.all_pending() if i.origin.who == _TOOL.who]

    def begin(self, changes: Sequence[PlannedChange]) -> list[Record]:
        return self._record(self._journal.begin(change) for change in changes)

    def done(self, changes: Sequence[PlannedChange]) -> list[Record]:
        return self._record(self._journal.done(change) for change in changes)

    def _record(self, changes: Iterable[Coroutine[Any, Any, None]]) -> list[Record]:
        async def make_all() -> None:
            for change in changes:
                await change

        before = len(self._log.records)
        asyncio.run(make_all())
        return self._log.records[before:]


class _Written(MemoryLog):
    """A log that keeps the written records."""

    def __init__(self, spec: TopicSpec, apply: Apply) -> None:
        super().__init__(spec, apply)
        self.records: list[Record] = []

    def append(self, records: Sequence[Record]) -> None:
        self.records += records
        self._append(records)

    async def write_all(self, records: Sequence[Record], writer: TransactionalWriter | None = None) -> None:
        self.append(records)


def removal(connector: str, group: str, before: Sequence[OffsetEntry]) -> PlannedChange:
    """The planned change that removes these offsets from a sink's group."""
    gone = tuple((partition, None) for partition, _ in before)
    return PlannedChange(connector, OffsetAction.ALTER, gone, tuple(before), group, origin=_TOOL)


class TopicStore:
    """The OfflineStore of a distributed cluster."""

    def __init__(self, cluster: OfflineCluster) -> None:
        self._cluster = cluster
        self._sinks: dict[str, str] | None = None

    def running_worker(self) -> str | None:
        return ", ".join(worker.address for worker in self._cluster.workers()) or None

    def unfinished(self) -> list[str]:
        journal = self._journal()
        if journal is None:
            return []
        self._finish(journal, journal.of_imports())
        return journal.of_workers()

    def load(self, into: Offsets) -> None:
        self._cluster.read(self._cluster.offsets, into.take)
        for name, group in self._groups().items():
            if into.wants(name):
                for (topic, number), offset in sorted(self._cluster.committed(group).items()):
                    into.put(name, *sink_entry(topic, number, offset))

    def check(self, document: Document) -> Document:
        self._cluster.check_offset_topic()
        return {name: _sink(name, w) if self._is_sink(name, w.offsets) else w for name, w in document.items()}

    def write(self, planned: Sequence[ImportChange], codec: OffsetCodec) -> None:
        """Writes the changes in one transaction.

        Removals from groups cannot be part of a transaction; the transaction adds the removals to the journal, and they
        are carried out afterwards. Clusters of Java's workers have no journal: there an interrupted import must be
        repeated.
        """
        sinks: list[ImportChange] = []
        sources: list[ImportChange] = []
        for c in planned:
            sink = names_topic(c.partition) and self._is_sink(c.connector, [c.partition])
            (sinks if sink else sources).append(c)
        commits: dict[str, dict[tuple[str, int], int]] = {}
        removals: dict[str, list[OffsetEntry]] = {}
        for c in sinks:
            partition, offset = orjson.loads(c.partition), orjson.loads(c.offset)
            if offset is None:
                removals.setdefault(c.connector, []).append((partition, orjson.loads(c.before)))
            else:
                at = partition[TOPIC], partition[PARTITION]
                commits.setdefault(self._group(c.connector), {})[at] = offset[OFFSET]
        journaled = [removal(name, self._group(name), before) for name, before in removals.items()]
        journal = self._journal() if journaled else None
        self._cluster.write(records(sources, codec), commits, journal.begin(journaled) if journal else ())
        try:
            self._finish(journal, journaled)
        except ToolError as e:
            raise ToolError(
                f"imported, but removing offsets from groups of sinks failed: {e}; repeat the import"
            ) from None

    def _finish(self, journal: OfflineJournal | None, planned: Sequence[PlannedChange]) -> None:
        for change in planned:
            self._cluster.remove(str(change.group), list(topic_partitions(change.offsets)))
        if journal is not None and planned:
            self._cluster.write((), {}, journal.done(planned))

    def _journal(self) -> OfflineJournal | None:
        if not self._cluster.exists(self._cluster.journal):
            return None
        records: list[tuple[bytes | None, bytes | None]] = []
        self._cluster.read(
            self._cluster.journal, lambda read: records.extend((key, value) for key, value, _, _ in read)
        )
        return OfflineJournal(records)

    def _groups(self) -> dict[str, str]:
        if self._sinks is None:
            self._sinks = self._cluster.sinks()
        return self._sinks

    def _group(self, name: str) -> str:
        return self._groups().get(name, f"connect-{name}")

    def _is_sink(self, name: str, partitions: Collection[bytes]) -> bool:
        """Whether the connector is a sink in the config topic, or all its partitions are partitions of Kafka topics."""
        return name in self._groups() or (len(partitions) > 0 and all(names_topic(p) for p in partitions))


def _sink(name: str, given: ImportedOffsets) -> ImportedOffsets:
    try:
        offsets = ImportedOffsets()
        for (topic, number), offset in parse_sink_offsets(list(given.entries())).items():
            partition, position = sink_entry(topic, number, offset)
            offsets.put(partition, canonical(partition), canonical(position))
        return offsets
    except BadRequest as e:
        raise BadInput(f"{name}: {e}") from None


_BLOCK = 2_000  # records per batch


class FileStore:
    """The OfflineStore of a standalone worker."""

    def __init__(self, path: Path, properties: Mapping[str, str]) -> None:
        self._path, self._properties = path, properties
        self._file = OffsetsFile(path)

    def running_worker(self) -> str | None:
        """The address of a running worker. A standalone worker can be detected only by its REST API."""
        for listener in _listeners(self._properties):
            if _is_connect(listener):
                return f"the worker at {listener}"
        return None

    def unfinished(self) -> list[str]:
        journal = self._path.with_name(f"{self._path.name}.journal")
        return OfflineJournal(_entries(OffsetsFile(journal)).items()).of_workers() if journal.exists() else []

    def load(self, into: Offsets) -> None:
        entries = self._load()
        while entries:  # frees each record: a million take half a gigabyte
            into.take([(*entries.popitem(), 0, 0) for _ in range(min(len(entries), _BLOCK))])

    def check(self, document: Document) -> Document:
        for name, wanted in document.items():
            if wanted.offsets and all(names_topic(partition) for partition in wanted.offsets):
                raise BadInput(
                    f"{name}: these are offsets of a sink; the file of a standalone worker has offsets of sources only"
                )
        return document

    def write(self, planned: Sequence[ImportChange], codec: OffsetCodec) -> None:
        entries = self._load() | dict(records(planned, codec))
        try:
            self._file.save({key: value for key, value in entries.items() if value is not None})
        except OffsetsFileError as e:
            raise ToolError(str(e)) from None

    def _load(self) -> dict[bytes | None, bytes | None]:
        return _entries(self._file)


def _entries(file: OffsetsFile) -> dict[bytes | None, bytes | None]:
    try:
        return file.load()
    except OffsetsFileError as e:
        raise ToolError(str(e)) from None


def _listeners(properties: Mapping[str, str]) -> list[str]:
    default = f"http://127.0.0.1:{properties.get('rest.port', '8083')}"
    listeners = comma_separated(properties.get("listeners", "")) or [default]
    return [listener.replace("://:", "://127.0.0.1:").replace("://0.0.0.0:", "://127.0.0.1:") for listener in listeners]


def _is_connect(url: str) -> bool:
    """Whether a Connect worker answers at this URL; 401 also counts as a worker."""
    unchecked = ssl.create_default_context()
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE  # no data is sent or trusted
    try:
        with urllib.request.urlopen(url.lower(), timeout=2.0, context=unchecked) as response:
            return "kafka_cluster_id" in json.loads(response.read(10_000))
    except urllib.error.HTTPError as e:
        return e.code == 401
    except (OSError, ValueError):
        return False


FILE = "offset.storage.file.filename"


class OfflineStore(Protocol):
    """Offsets of a stopped cluster."""

    def running_worker(self) -> str | None:
        """The address of a running worker; None if no worker is running."""

    def unfinished(self) -> list[str]:
        """Connectors whose offsets a worker was changing when it ended. Finishes interrupted imports first."""

    def load(self, into: Offsets) -> None:
        """Adds all stored offsets to `into`."""

    def check(self, document: Document) -> Document:
        """The document in the form in which it is stored. Raises BadInput for offsets that cannot be stored."""

    def write(self, planned: Sequence[ImportChange], codec: OffsetCodec) -> None:
        """Applies all changes or none. Raises ToolError if no change was applied."""


def store(properties: Mapping[str, str]) -> OfflineStore:
    """The store of a worker with these properties: standalone if they name an offsets file and no group."""
    if properties.get(FILE) and not properties.get("group.id"):
        return FileStore(Path(properties[FILE]), properties)
    return TopicStore(cluster(properties))

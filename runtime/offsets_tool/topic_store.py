"""TopicStore: offsets of a distributed cluster, in the offset topic (sources) and in consumer groups (sinks)."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import orjson

from runtime.herder.errors import BadRequest
from runtime.herder.offsets.sink_offsets import parse_sink_offsets
from runtime.herder.offsets.stored_offsets import OFFSET, PARTITION, TOPIC, sink_entry, topic_partitions
from runtime.offsets_tool.cluster import OfflineCluster
from runtime.offsets_tool.codec import OffsetCodec, canonical
from runtime.offsets_tool.collection import Offsets
from runtime.offsets_tool.document import Document, ImportedOffsets
from runtime.offsets_tool.errors import BadInput, ToolError
from runtime.offsets_tool.offline_journal import OfflineJournal, removal
from runtime.offsets_tool.plan import ImportChange, names_topic, records
from runtime.storage.journal import OffsetEntry, PlannedChange


class TopicStore:
    """The OfflineStore of a distributed cluster."""

    def __init__(self, cluster: OfflineCluster) -> None:
        self._cluster = cluster
        self._sinks: dict[str, str] | None = None

    def running_worker(self) -> str | None:
        return self._cluster.running_worker()

    def unfinished(self) -> list[str]:
        found = self._journal()
        if found is None:
            return []
        self._finish(found, found.of_imports())
        return found.of_workers()

    def load(self, into: Offsets) -> None:
        self._cluster.read(self._cluster.offsets, into.take)
        for name, group in self._groups().items():
            if into.wants(name):
                for (topic, number), offset in sorted(self._cluster.committed(group).items()):
                    into.put(name, *sink_entry(topic, number, offset))

    def check(self, document: Document) -> Document:
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
        found: list[tuple[bytes | None, bytes | None]] = []
        self._cluster.read(self._cluster.journal, lambda read: found.extend((key, value) for key, value, _, _ in read))
        return OfflineJournal(found)

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
        found = ImportedOffsets()
        for (topic, number), offset in parse_sink_offsets(list(given.entries())).items():
            partition, position = sink_entry(topic, number, offset)
            found.put(partition, canonical(partition), canonical(position))
        return found
    except BadRequest as e:
        raise BadInput(f"{name}: {e}") from None

"""The offset topic: offsets of source connectors, in Apache Connect's own records (FACTS 7)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runtime.kafka.formats import canonical, compact, java_ordered, offset_key
from runtime.kafka.log.log import LogRecord, TopicSpec
from runtime.model.task_spec import SourceOffset
from runtime.storage.port import LogOpener
from runtime.storage.records import MalformedRecord, json_object, json_value, log_skipped

_log = logging.getLogger(__name__)

Partition = dict[str, Any] | None
Offset = dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class _Stored:
    """The latest record of a key."""

    raw_key: bytes
    partition: Partition
    offset: Offset  # None: reset
    age: tuple[int, int]  # timestamp and offset, since spellings of a partition may be in different Kafka partitions


class OffsetStore:
    """Reads and writes the offset topic. Event loop only.

    The keys of a partition may be spelled differently, since the order of JSON keys differs between writers; the latest
    record counts."""

    def __init__(self, logs: LogOpener, spec: TopicSpec) -> None:
        self._log = logs.open(spec, self.apply)
        self._stored: dict[str, dict[bytes, _Stored]] = {}

    async def read_to_end(self) -> None:
        """Apply all offsets committed so far by any worker. BrokerUnavailable if Kafka does not answer."""
        await self._log.read_to_end()

    def offsets(self, name: str) -> list[SourceOffset]:
        """Offsets of a connector, one for each partition."""
        found = []
        for spellings in self._spellings(name).values():
            latest = max(spellings, key=lambda s: s.age)
            if latest.offset is not None:
                partition: Any = latest.partition  # may be null
                found.append(SourceOffset(partition, latest.offset, latest.raw_key.decode()))
        return found

    def known(self, name: str) -> set[str]:
        """Partitions of a connector with a record in this topic, resets included, as canonical text."""
        return set(self._spellings(name))

    def names(self) -> list[str]:
        """Connectors that have offsets, deleted connectors included."""
        return sorted(name for name in self._stored if any(s.offset is not None for s in self._stored[name].values()))

    def written(self, name: str) -> dict[str, int]:
        """When the offset of each partition (as canonical text) was written, in milliseconds since 1970."""
        return {text: max(s.age for s in found)[0] for text, found in self._spellings(name).items()}

    async def alter(self, name: str, offsets: Sequence[tuple[Partition, Offset]]) -> None:
        """Set the offsets of partitions, or reset them (None); if a partition occurs twice, the last entry wins.

        Call read_to_end() first. One key keeps the offset, every other spelling of the partition gets a tombstone."""
        wanted = {canonical(partition): (partition, offset) for partition, offset in offsets}
        known = self._spellings(name)
        records: list[tuple[bytes, bytes | None]] = []
        for text, (partition, offset) in wanted.items():
            spellings = known.get(text, [])
            key = max(spellings, key=lambda s: s.age).raw_key if spellings else offset_key(name, partition)
            others = [s.raw_key for s in spellings if s.raw_key != key and s.offset is not None]
            records += [(other, None) for other in others]
            records.append((key, None if offset is None else compact(java_ordered(offset))))
        if records:
            await self._log.write_all(records)

    async def commit(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        """Write records committed by a task unchanged, for workers whose tasks do not write to the topic themselves."""
        await self._log.write_all(records)

    def apply(self, records: Sequence[LogRecord]) -> None:
        """Apply records of the topic in order; malformed records are logged and skipped."""
        for record in records:
            try:
                self._take(record)
            except MalformedRecord as e:
                log_skipped(_log, self._log.spec.topic, record, e)

    def _take(self, record: LogRecord) -> None:
        key = json_value(record.key)
        if not isinstance(key, list) or len(key) != 2 or not isinstance(key[0], str):
            raise MalformedRecord("the key is not a connector's name and a partition")
        name, partition = key
        if partition is not None and not isinstance(partition, dict):
            raise MalformedRecord("the partition is not a JSON object")
        raw_key = record.key or b""
        stored = _Stored(raw_key, partition, json_object(record.value), (record.timestamp, record.offset))
        self._stored.setdefault(name, {})[raw_key] = stored

    def _spellings(self, name: str) -> dict[str, list[_Stored]]:
        """The latest records of a connector, by partition."""
        found: dict[str, list[_Stored]] = {}
        for stored in self._stored.get(name, {}).values():
            found.setdefault(canonical(stored.partition), []).append(stored)
        return found

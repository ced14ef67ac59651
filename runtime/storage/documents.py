"""JSON documents of any size in a compacted topic of ours: a head, and pieces where one record is too small."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.kafka.formats import compact
from runtime.kafka.log.log import LogRecord, TopicSpec
from runtime.storage.port import LogOpener
from runtime.storage.records import MalformedRecord, json_object, log_skipped

_log = logging.getLogger(__name__)

PIECE_SIZE = 400_000
"""Bytes in one record: brokers take a megabyte unless told otherwise."""

_SEPARATOR = b"\x00"  # between a document's key, its edition and the number of a piece; keys have none


class Documents:
    """Reads and writes documents. Event loop only; every write is applied before it returns.

    The head is written after the pieces of its edition and before those of the one before are removed, so that a
    crash leaves the document as it was or as it is to be."""

    def __init__(self, logs: LogOpener, spec: TopicSpec) -> None:
        self._log = logs.open(spec, self.apply)
        self._heads: dict[str, dict[str, Any]] = {}
        self._pieces: dict[bytes, bytes] = {}  # parts of documents' texts

    async def read_to_end(self) -> None:
        await self._log.read_to_end()

    def keys(self, prefix: str) -> list[str]:
        """Keys of the documents there are."""
        return sorted(k for k in self._heads if k.startswith(prefix))

    def get(self, key: str) -> dict[str, Any] | None:
        """A document; None when there is none, or not all of it."""
        head = self._heads.get(key)
        if head is None or "document" in head:
            return None if head is None else dict(head["document"])
        parts = [self._pieces.get(piece) for piece in _piece_keys(key, head)]
        if None in parts:
            return None
        found: dict[str, Any] = json.loads(b"".join(part for part in parts if part is not None))
        return found

    async def put(self, key: str, document: dict[str, Any]) -> None:
        """Write a document in place of the one that was there."""
        before = [(piece, None) for piece in _piece_keys(key, self._heads.get(key, {}))]
        await self._log.write_all([*_records(key, document), *before])

    async def remove(self, *keys: str) -> None:
        """Remove documents; those that do not exist are no error."""
        await self._log.write_all([record for key in keys for record in self._tombstones(key)])

    def _tombstones(self, key: str) -> list[tuple[bytes, bytes | None]]:
        return [(key.encode(), None), *((piece, None) for piece in _piece_keys(key, self._heads.get(key, {})))]

    # records

    def apply(self, records: Sequence[LogRecord]) -> None:
        """Records of the topic, in order; what cannot be understood is logged and skipped."""
        for record in records:
            try:
                self._take(record.key or b"", record.value)
            except MalformedRecord as e:
                log_skipped(_log, self._log.spec.topic, record, e)

    def _take(self, key: bytes, value: bytes | None) -> None:
        if _SEPARATOR in key:
            if value is None:
                self._pieces.pop(key, None)
            else:
                self._pieces[key] = value
            return
        head = json_object(value)
        if head is None:
            self._heads.pop(key.decode(), None)
        elif isinstance(head.get("document"), dict) or {"edition", "pieces"} <= head.keys():
            self._heads[key.decode()] = head
        else:
            raise MalformedRecord("neither a document nor the head of one")


def _records(key: str, document: dict[str, Any]) -> list[tuple[bytes, bytes | None]]:
    text = compact(document)
    if len(text) <= PIECE_SIZE:
        return [(key.encode(), compact({"document": document}))]
    parts = [text[i : i + PIECE_SIZE] for i in range(0, len(text), PIECE_SIZE)]
    head = {"edition": uuid.uuid4().hex, "pieces": len(parts)}
    return [*zip(_piece_keys(key, head), parts, strict=True), (key.encode(), compact(head))]


def _piece_keys(key: str, head: Mapping[str, Any]) -> list[bytes]:
    """Of the document that the head is the head of."""
    edition = str(head.get("edition", "")).encode()
    return [_SEPARATOR.join((key.encode(), edition, b"%d" % n)) for n in range(int(head.get("pieces", 0)))]

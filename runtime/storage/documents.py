"""JSON documents of any size in Headrace's own compacted topic; a large document is split into several records."""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.kafka.formats import compact
from runtime.kafka.log.log import LogRecord, TopicSpec
from runtime.kafka.log.transactional_writer import TransactionalWriter
from runtime.storage.port import LogOpener, MalformedRecord, json_object, log_skipped

_log = logging.getLogger(__name__)

PIECE_SIZE = 400_000
"""Bytes of a document in one record; brokers accept a megabyte by default."""

_SHORT = 500  # characters of a text that the head has, too

_SEPARATOR = b"\x00"  # between a document's key, its edition and the number of a piece; keys do not contain it


class Documents:
    """Reads and writes documents. Event loop only; every write is applied before it returns.

    A document is stored as a head, followed by pieces if it is large. The head is written after its pieces and before
    the previous edition's pieces are removed, so that a crash leaves either the old or the new document."""

    def __init__(self, logs: LogOpener, spec: TopicSpec) -> None:
        self._log = logs.open(spec, self.apply)
        self._heads: dict[str, dict[str, Any]] = {}
        self._pieces: dict[bytes, dict[bytes, bytes]] = {}  # by document
        self._followers: list[tuple[str, Callable[[str, bool], None]]] = []

    def follow(self, prefix: str, follower: Callable[[str, bool], None]) -> None:
        """Call this function with the key of each document with this prefix that exists, also later, and whether it
        exists still."""
        self._followers.append((prefix, follower))
        for key in self.keys(prefix):
            follower(key, True)

    async def read_to_end(self) -> None:
        """Apply every record that is in the topic now."""
        await self._log.read_to_end()

    def keys(self, prefix: str) -> list[str]:
        return sorted(k for k in self._heads if k.startswith(prefix))

    def fields(self, key: str) -> Mapping[str, Any]:
        """The numbers and short texts of a document, which its head has if it is large; empty if it does not exist."""
        head = self._heads.get(key, {})
        return dict(head.get("document", head))

    def get(self, key: str) -> dict[str, Any] | None:
        """A document; None if it does not exist or is incomplete."""
        head = self._heads.get(key)
        if head is None or "document" in head:
            return None if head is None else dict(head["document"])
        pieces = self._pieces.get(key.encode(), {})
        parts = [pieces.get(piece) for piece in _piece_keys(key, head)]
        if None in parts:
            return None
        document: dict[str, Any] = json.loads(b"".join(part for part in parts if part is not None))
        return document

    async def put(self, key: str, document: dict[str, Any], writer: TransactionalWriter | None = None) -> None:
        """Write a document, replacing its previous version. With a writer: in one of its transactions."""
        before = self._pieces_of(key)
        await self._log.write_all([*_records(key, document), *before], writer)

    async def remove(self, *keys: str, writer: TransactionalWriter | None = None) -> None:
        """Remove documents; documents that do not exist are ignored. With a writer: in one of its transactions."""
        await self._log.write_all([record for key in keys for record in self._tombstones(key)], writer)

    def _tombstones(self, key: str) -> list[tuple[bytes, bytes | None]]:
        return [(key.encode(), None), *self._pieces_of(key)]

    def _pieces_of(self, key: str) -> list[tuple[bytes, None]]:
        """Tombstones of all pieces of a document, also of those whose head was never written."""
        return [(piece, None) for piece in self._pieces.get(key.encode(), ())]

    # records

    def apply(self, records: Sequence[LogRecord]) -> None:
        """Apply records of the topic in order; malformed records are logged and skipped."""
        for record in records:
            try:
                self._take(record.key or b"", record.value)
            except MalformedRecord as e:
                log_skipped(_log, self._log.spec.topic, record, e)

    def _take(self, key: bytes, value: bytes | None) -> None:
        if _SEPARATOR in key:
            self._take_piece(key.partition(_SEPARATOR)[0], key, value)
            return
        try:
            head, name = json_object(value), key.decode()
        except UnicodeDecodeError as e:
            raise MalformedRecord(f"the key is not UTF-8: {e}") from None
        if head is None:
            self._heads.pop(name, None)
        elif isinstance(head.get("document"), dict) or {"edition", "pieces"} <= head.keys():
            self._heads[name] = head
        else:
            raise MalformedRecord("neither a document nor the head of one")
        for prefix, follower in self._followers:
            if name.startswith(prefix):
                follower(name, head is not None)

    def _take_piece(self, document: bytes, key: bytes, value: bytes | None) -> None:
        pieces = self._pieces.setdefault(document, {})
        if value is None:
            pieces.pop(key, None)
        else:
            pieces[key] = value
        if not pieces:
            del self._pieces[document]


def _records(key: str, document: dict[str, Any]) -> list[tuple[bytes, bytes | None]]:
    text = compact(document)
    if len(text) <= PIECE_SIZE:
        return [(key.encode(), compact({"document": document}))]
    parts = [text[i : i + PIECE_SIZE] for i in range(0, len(text), PIECE_SIZE)]
    fields = {name: value for name, value in document.items() if _is_short(value)}
    head = {**fields, "edition": uuid.uuid4().hex, "pieces": len(parts)}
    return [*zip(_piece_keys(key, head), parts, strict=True), (key.encode(), compact(head))]


def _is_short(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and len(value) <= _SHORT)


def _piece_keys(key: str, head: Mapping[str, Any]) -> list[bytes]:
    """The keys of a document's pieces."""
    edition = str(head.get("edition", "")).encode()
    return [_SEPARATOR.join((key.encode(), edition, b"%d" % n)) for n in range(int(head.get("pieces", 0)))]

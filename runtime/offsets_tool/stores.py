"""Where a worker's file has its offsets, in one shape for both kinds of worker."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import orjson

from runtime.herder.errors import BadRequest
from runtime.herder.offset_places import OFFSET, PARTITION, TOPIC, sink_entry
from runtime.herder.sink_offsets import parse_sink_offsets
from runtime.offsets_tool.cluster import Cluster, cluster
from runtime.offsets_tool.codec import Codec, canonical
from runtime.offsets_tool.collection import Offsets
from runtime.offsets_tool.document import Document, Wanted
from runtime.offsets_tool.errors import BadInput, ToolError
from runtime.offsets_tool.plan import Change, records
from runtime.storage.file_offsets import OffsetsFile, OffsetsFileError

FILE = "offset.storage.file.filename"

_TOPIC = f'"{TOPIC}"'.encode()


class Store(Protocol):
    """Offsets of a cluster that is not running."""

    def holder(self) -> str | None:
        """Who is running all the same."""

    def load(self, into: Offsets) -> None:
        """Everything that is stored."""

    def check(self, document: Document) -> Document:
        """The document as it will be stored; BadInput when some of it cannot be."""

    def write(self, planned: Sequence[Change], codec: Codec) -> None:
        """All changes or none; ToolError when it was none."""


def store(properties: Mapping[str, str]) -> Store:
    """A standalone worker's file names a file, a distributed one's a group."""
    if properties.get(FILE) and not properties.get("group.id"):
        return FileStore(Path(properties[FILE]), properties)
    return TopicStore(cluster(properties))


class TopicStore:
    """Of a distributed cluster: sources in the offset topic, sinks in their consumer groups."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._sinks: dict[str, str] | None = None

    def holder(self) -> str | None:
        return self._cluster.holder()

    def load(self, into: Offsets) -> None:
        self._cluster.read(self._cluster.offsets, into.take)
        for name, group in self._groups().items():
            if into.wants(name):
                for (topic, number), offset in sorted(self._cluster.committed(group).items()):
                    into.put(name, *sink_entry(topic, number, offset))

    def check(self, document: Document) -> Document:
        return {name: _sink(name, w) if self._is_sink(name, w.offsets) else w for name, w in document.items()}

    def write(self, planned: Sequence[Change], codec: Codec) -> None:
        """The transaction first; what is removed from groups after it may be removed again."""
        sinks = [c for c in planned if _names_topic(c.partition) and self._is_sink(c.connector, [c.partition])]
        sources = [c for c in planned if c not in sinks] if sinks else planned
        commits: dict[str, dict[tuple[str, int], int]] = {}
        removals: dict[str, list[tuple[str, int]]] = {}
        for c in sinks:
            partition, offset = orjson.loads(c.partition), orjson.loads(c.offset)
            group, at = self._group(c.connector), (partition[TOPIC], partition[PARTITION])
            if offset is None:
                removals.setdefault(group, []).append(at)
            else:
                commits.setdefault(group, {})[at] = offset[OFFSET]
        self._cluster.write(records(sources, codec), commits)
        for group, partitions in removals.items():
            self._cluster.remove(group, partitions)

    def _groups(self) -> dict[str, str]:
        if self._sinks is None:
            self._sinks = self._cluster.sinks()
        return self._sinks

    def _group(self, name: str) -> str:
        return self._groups().get(name, f"connect-{name}")

    def _is_sink(self, name: str, partitions: Collection[bytes]) -> bool:
        """Connectors of the config topic say it; of others, the shape of all their partitions."""
        return name in self._groups() or (len(partitions) > 0 and all(_names_topic(p) for p in partitions))


class FileStore:
    """Of a standalone worker: sources in its file. (Its sinks' offsets are in Kafka, where its file does not lead.)"""

    def __init__(self, path: Path, properties: Mapping[str, str]) -> None:
        self._path, self._properties = path, properties
        self._file = OffsetsFile(path)

    def holder(self) -> str | None:
        """A standalone worker leaves no trace but its REST API."""
        for listener in _listeners(self._properties):
            if _is_connect(listener):
                return f"the worker at {listener}"
        return None

    def load(self, into: Offsets) -> None:
        into.take([(key, value, 0, 0) for key, value in self._load().items()])

    def check(self, document: Document) -> Document:
        for name, wanted in document.items():
            if wanted.offsets and all(_names_topic(partition) for partition in wanted.offsets):
                raise BadInput(f"{name}: these are offsets of a sink; a standalone worker's file has those of sources")
        return document

    def write(self, planned: Sequence[Change], codec: Codec) -> None:
        entries = self._load() | dict(records(planned, codec))
        try:
            self._file.save({key: value for key, value in entries.items() if value is not None})
        except OffsetsFileError as e:
            raise ToolError(str(e)) from None

    def _load(self) -> dict[bytes | None, bytes | None]:
        try:
            return self._file.load()
        except OffsetsFileError as e:
            raise ToolError(str(e)) from None


def _names_topic(partition: bytes) -> bool:
    return _TOPIC in partition and orjson.loads(partition).keys() == {TOPIC, PARTITION}


def _sink(name: str, given: Wanted) -> Wanted:
    try:
        found = Wanted()
        for (topic, number), offset in parse_sink_offsets(list(given.entries())).items():
            partition, position = sink_entry(topic, number, offset)
            found.put(partition, canonical(partition), canonical(position))
        return found
    except BadRequest as e:
        raise BadInput(f"{name}: {e}") from None


def _listeners(properties: Mapping[str, str]) -> list[str]:
    found = [part.strip() for part in properties.get("listeners", "").split(",") if part.strip()]
    found = found or [f"http://127.0.0.1:{properties.get('rest.port', '8083')}"]
    return [listener.replace("://:", "://127.0.0.1:").replace("://0.0.0.0:", "://127.0.0.1:") for listener in found]


def _is_connect(url: str) -> bool:
    """Whether a Connect worker answers there; one that wants a password is one too."""
    unchecked = ssl.create_default_context()
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE  # only asked whether somebody is there
    try:
        with urllib.request.urlopen(url.lower(), timeout=2.0, context=unchecked) as answer:
            return "kafka_cluster_id" in json.loads(answer.read(10_000))
    except urllib.error.HTTPError as e:
        return e.code == 401
    except (OSError, ValueError):
        return False

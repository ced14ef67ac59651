"""FileStore: offsets of a standalone worker's sources, in its file. Offsets of sinks are in Kafka."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime.offsets_tool.codec import OffsetCodec
from runtime.offsets_tool.collection import Offsets
from runtime.offsets_tool.document import Document
from runtime.offsets_tool.errors import BadInput, ToolError
from runtime.offsets_tool.offline_journal import OfflineJournal
from runtime.offsets_tool.plan import ImportChange, names_topic, records
from runtime.storage.file_offsets import OffsetsFile, OffsetsFileError

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
    found = [part.strip() for part in properties.get("listeners", "").split(",") if part.strip()]
    found = found or [f"http://127.0.0.1:{properties.get('rest.port', '8083')}"]
    return [listener.replace("://:", "://127.0.0.1:").replace("://0.0.0.0:", "://127.0.0.1:") for listener in found]


def _is_connect(url: str) -> bool:
    """Whether a Connect worker answers at this URL; 401 also counts as a worker."""
    unchecked = ssl.create_default_context()
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE  # no data is sent or trusted
    try:
        with urllib.request.urlopen(url.lower(), timeout=2.0, context=unchecked) as answer:
            return "kafka_cluster_id" in json.loads(answer.read(10_000))
    except urllib.error.HTTPError as e:
        return e.code == 401
    except (OSError, ValueError):
        return False

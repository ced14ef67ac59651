"""OfflineStore: access to the offsets of a stopped cluster, one interface for both kinds of worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from runtime.offsets_tool.cluster import cluster
from runtime.offsets_tool.codec import OffsetCodec
from runtime.offsets_tool.collection import Offsets
from runtime.offsets_tool.document import Document
from runtime.offsets_tool.file_store import FileStore
from runtime.offsets_tool.plan import ImportChange
from runtime.offsets_tool.topic_store import TopicStore

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

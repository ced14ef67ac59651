"""Where a worker's file has its offsets, in one shape for both kinds of worker."""

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


class OffsetStore(Protocol):
    """Offsets of a cluster that is not running."""

    def holder(self) -> str | None:
        """Who is running all the same."""

    def unfinished(self) -> list[str]:
        """Connectors whose offsets a worker was changing when it ended. What an import left to do is done now."""

    def load(self, into: Offsets) -> None:
        """Everything that is stored."""

    def check(self, document: Document) -> Document:
        """The document as it will be stored; BadInput when some of it cannot be."""

    def write(self, planned: Sequence[ImportChange], codec: OffsetCodec) -> None:
        """All changes or none; ToolError when it was none."""


def store(properties: Mapping[str, str]) -> OffsetStore:
    """A standalone worker's file names a file, a distributed one's a group."""
    if properties.get(FILE) and not properties.get("group.id"):
        return FileStore(Path(properties[FILE]), properties)
    return TopicStore(cluster(properties))

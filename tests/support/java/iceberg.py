"""Iceberg's sink as a plugin, and its tables on disk."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runtime.java.install.coordinate import Coordinate
from runtime.java.install.installer import install
from runtime.java.install.resolver import Repositories, resolve
from runtime.java.jvm.jars import ivy_jar
from runtime.system.cache import cache_folder
from runtime.system.locks import exclusive

VERSION = "1.12.0"
_CONNECTOR = f"org.apache.iceberg:iceberg-kafka-connect:{VERSION}"
_FORMAT = f"org.apache.iceberg:iceberg-parquet:{VERSION}"
"""Apache's distribution of the connector includes it; the connector's own artifact does not depend on it."""


def iceberg_plugin() -> Path:
    """The `plugin.path` with the connector, the Parquet format and PySpark's Hadoop client, installed once."""
    folder = cache_folder() / "test-connectors" / f"iceberg-{VERSION}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(folder.parent / ".lock"):
        if not folder.exists():
            draft = folder.with_name(f".{folder.name}")
            place = install(Coordinate.parse(_CONNECTOR), draft, progress=sys.stderr).folder
            others = resolve(Coordinate.parse(_FORMAT), Repositories(), sys.stderr)
            hadoop = list(ivy_jar().parent.glob("hadoop-client-*.jar"))
            for jar in (*others, *hadoop):
                if not (place / jar.name).exists():
                    os.link(jar, place / jar.name)
            draft.rename(folder)
    return folder


class IcebergTable:
    """A table of a catalog on disk."""

    def __init__(self, warehouse: Path, name: str) -> None:
        self._folder = warehouse / name.replace(".", "/")

    @property
    def total(self) -> int:
        """The number of rows, according to the current snapshot."""
        snapshot = self._snapshot()
        return int(snapshot["summary"]["total-records"]) if snapshot else 0

    def column(self, name: str) -> list[Any]:
        """The values of a column in the current snapshot."""
        import pyarrow.parquet

        return [value for file in self._data_files() for value in pyarrow.parquet.read_table(file)[name].to_pylist()]

    def _snapshot(self) -> dict[str, Any] | None:
        hint = self._folder / "metadata" / "version-hint.text"
        if not hint.exists():
            return None
        metadata = json.loads((hint.parent / f"v{int(hint.read_text())}.metadata.json").read_text())
        current = metadata.get("current-snapshot-id")
        return next((one for one in metadata.get("snapshots", ()) if one["snapshot-id"] == current), None)

    def _data_files(self) -> Iterator[str]:
        snapshot = self._snapshot()
        for manifest in _avro(snapshot["manifest-list"]) if snapshot else ():
            for entry in _avro(manifest["manifest_path"]):
                if entry["status"] != _DELETED:
                    yield _path(entry["data_file"]["file_path"])


_DELETED = 2


def _avro(location: str) -> list[dict[str, Any]]:
    import fastavro

    with Path(_path(location)).open("rb") as file:
        return [record for record in fastavro.reader(file) if isinstance(record, dict)]


def _path(location: str) -> str:
    return location.removeprefix("file://").removeprefix("file:")

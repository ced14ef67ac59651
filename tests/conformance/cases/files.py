"""FilesSource and FilesSink, with each format."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from runtime.api.data.schema import INT64_SCHEMA, OPTIONAL_STRING_SCHEMA, struct_schema
from runtime.connectors.files.sink.connector import FilesSinkConnector
from runtime.connectors.files.source.connector import FilesSourceConnector
from runtime.plugin_kit import Case, SinkCase, SourceCase
from runtime.plugin_kit.conformance.case import Config

_SCHEMA = struct_schema({"n": INT64_SCHEMA, "text": OPTIONAL_STRING_SCHEMA})


@contextmanager
def _json_files(folder: Path) -> Iterator[Config]:
    for file in range(3):
        lines = [orjson.dumps({"n": number}) for number in range(file * 40, file * 40 + 40)]
        (folder / f"{file}.jsonl").write_bytes(b"\n".join([*lines, b""]))
    yield {"url": str(folder)}


@contextmanager
def _parquet_file(folder: Path) -> Iterator[Config]:
    import pyarrow as pa
    from pyarrow import parquet

    parquet.write_table(pa.table({"n": list(range(120))}), folder / "numbers.parquet", row_group_size=50)
    yield {"url": str(folder)}


def _rows(config: Config) -> Iterator[dict[str, Any]]:
    from pyarrow import parquet

    for file in Path(config["url"]).rglob("*+*+*"):
        if file.suffix == ".parquet":
            yield from parquet.read_table(file, partitioning=None).to_pylist()
        elif file.suffix == ".json":
            yield from map(orjson.loads, file.read_bytes().splitlines())


def _written(config: Config) -> list[int]:
    return [row["n"] for row in _rows(config) if isinstance(row, dict) and row.get("n") is not None]


CASES: list[Case] = [
    SourceCase(
        name="FilesSource-json",
        connector=FilesSourceConnector,
        config={"topic": "rows", "batch.size": "7", "poll.interval.ms": "10"},
        environment=_json_files,
        invalid={"url": "relative", "order": "size", "finished.files": "burn"},
    ),
    SourceCase(
        name="FilesSource-parquet",
        connector=FilesSourceConnector,
        config={"topic": "rows", "batch.size": "7", "poll.interval.ms": "10"},
        environment=_parquet_file,
    ),
    SinkCase(
        name="FilesSink-parquet",
        connector=FilesSinkConnector,
        config={"topics": "rows", "url": "{folder}/out", "flush.size": "10"},
        schema=_SCHEMA,
        value=lambda number: {"n": number, "text": f"row {number}"},
        written=_written,
        exactly_once=True,
        invalid={"url": "relative", "compression": "rar", "timezone": "Moon", "path.format": "'open"},
    ),
    SinkCase(
        name="FilesSink-json",
        connector=FilesSinkConnector,
        config={"topics": "rows", "url": "{folder}/out", "flush.size": "10", "format": "json"},
        value=lambda number: {"n": number},
        written=_written,
        exactly_once=True,
    ),
]

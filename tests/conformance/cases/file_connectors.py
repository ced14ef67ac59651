"""FileStreamSource and FileStreamSink."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.api.data.schema import STRING_SCHEMA
from runtime.connectors.file_sink import FileStreamSinkConnector
from runtime.connectors.file_source import FileStreamSourceConnector
from runtime.plugin_kit import Case, SinkCase, SourceCase
from runtime.plugin_kit.conformance.case import Config


@contextmanager
def _lines(folder: Path) -> Iterator[Config]:
    file = folder / "in.txt"
    file.write_text("".join(f"line {n}\n" for n in range(100)))
    yield {"file": str(file)}


def _written(config: Config) -> list[int]:
    return [int(line.split()[1]) for line in Path(config["file"]).read_text().splitlines() if line.startswith("line ")]


CASES: list[Case] = [
    SourceCase(
        connector=FileStreamSourceConnector,
        config={"topic": "lines", "batch.size": "7"},
        environment=_lines,
        invalid={"topic": ""},
    ),
    SinkCase(
        connector=FileStreamSinkConnector,
        config={"topics": "lines", "file": "{folder}/out.txt"},
        schema=STRING_SCHEMA,
        value=lambda number: f"line {number}",
        written=_written,
    ),
]

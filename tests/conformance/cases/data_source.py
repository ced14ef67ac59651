"""DataSource and DataSourceSink, with data sources of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.api.data.schema import INT64_SCHEMA, struct_schema
from runtime.connectors.data_source.sink import DataSourceSinkConnector
from runtime.connectors.data_source.source import DataSourceConnector
from runtime.plugin_kit import Case, SinkCase, SourceCase
from runtime.plugin_kit.conformance.case import Config
from tests.support.data_sources import row_files


@contextmanager
def _folder(folder: Path) -> Iterator[Config]:
    (folder / "rows").mkdir()
    yield {"data.source.option.path": str(folder / "rows")}


def _written(config: Config) -> list[int]:
    rows = row_files(Path(config["data.source.option.path"]))
    return [row["n"] for row in rows if "n" in row]


CASES: list[Case] = [
    SourceCase(
        connector=DataSourceConnector,
        config={
            "topic": "numbers",
            "data.source": "tests.support.data_sources.Numbers",
            "data.source.option.total": "100",
            "data.source.batch.size": "15",
            "data.source.poll.interval.ms": "50",
        },
        invalid={"data.source": "NoModule", "data.source.schema": "n"},
    ),
    SourceCase(
        name="DataSourceConnector, a simple reader",
        connector=DataSourceConnector,
        config={
            "topic": "letters",
            "tasks.max": "2",
            "data.source": "tests.support.data_sources.Letters",
            "data.source.poll.interval.ms": "50",
        },
        records=20,
    ),
    SourceCase(
        name="DataSourceConnector, more tasks than partitions",
        connector=DataSourceConnector,
        config={
            "topic": "numbers",
            "tasks.max": "2",
            "data.source": "tests.support.data_sources.Numbers",
            "data.source.option.partitions": "1",
            "data.source.batch.size": "15",
            "data.source.poll.interval.ms": "50",
        },
    ),
    SinkCase(
        connector=DataSourceSinkConnector,
        config={"topics": "numbers", "data.source": "tests.support.data_sources.RowFiles"},
        environment=_folder,
        schema=struct_schema({"n": INT64_SCHEMA}),
        value=lambda number: {"n": number},
        written=_written,
    ),
]

"""The data source `headrace`: Connect connectors in Spark's `read`, `readStream`, `write` and `writeStream`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from runtime.api.errors import ConfigError
from runtime.spark.options import SparkOptions


class HeadraceDataSource(DataSource):
    """See docs/spark-notebooks.md for its options."""

    @classmethod
    def name(cls) -> str:
        return "headrace"

    def schema(self) -> StructType:
        from runtime.spark.source.batch_reader import inferred_schema

        return inferred_schema(self._options)

    def reader(self, schema: StructType) -> DataSourceReader:
        from runtime.spark.source.batch_reader import HeadraceReader

        return HeadraceReader(self._options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        with _newer("readStream", "4.2"):
            from runtime.spark.source.stream_reader import HeadraceStreamReader

        return HeadraceStreamReader(self._options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        with _newer("write", "4.1"):
            from runtime.spark.sink.sink_run import HeadraceWriter

        return HeadraceWriter(self._options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        with _newer("writeStream", "4.1"):
            from runtime.spark.sink.sink_run import HeadraceStreamWriter

        return HeadraceStreamWriter(self._options, schema)

    @property
    def _options(self) -> SparkOptions:
        return SparkOptions.of(self.options)


@contextlib.contextmanager
def _newer(method: str, version: str) -> Iterator[None]:
    """Reports an import error of an older Spark as such."""
    try:
        yield
    except ImportError as error:
        if not (error.name or "").startswith("pyspark"):
            raise
        raise ConfigError(f"{method} with the format headrace needs Spark {version} or newer: {error}") from error

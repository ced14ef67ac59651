"""The data source `headrace`: Connect connectors in Spark's `read`, `readStream`, `write` and `writeStream`."""

from __future__ import annotations

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

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
        from runtime.spark.source.stream_reader import HeadraceStreamReader

        return HeadraceStreamReader(self._options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from runtime.spark.sink.writers import HeadraceWriter

        return HeadraceWriter(self._options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from runtime.spark.sink.writers import HeadraceStreamWriter

        return HeadraceStreamWriter(self._options, schema)

    @property
    def _options(self) -> SparkOptions:
        return SparkOptions.of(self.options)

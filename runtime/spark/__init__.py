"""Connectors in Spark queries: `spark.readStream.format("headrace")` and the other readers and writers, for notebooks.

Spark finds the data source by itself where Headrace is installed in the environment of its driver, since the package
`pyspark_headrace` belongs to it. register() is for sessions that do not search packages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Register the format `headrace` in a session."""
    from runtime.spark.data_source import HeadraceDataSource

    spark.dataSource.register(HeadraceDataSource)

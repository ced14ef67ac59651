"""Makes the format `headrace` known to Spark, which imports packages named `pyspark_*` to find data sources."""

from runtime.spark.data_source import HeadraceDataSource as DefaultSource

__all__ = ["DefaultSource"]

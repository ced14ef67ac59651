"""What needs a newer Spark than the oldest that Headrace runs on."""

from __future__ import annotations

import importlib.util
from importlib.metadata import version

from runtime.engine.driver.session.queries import NotAQueryError


def require_spark_4_2(feature: str) -> None:
    """NotAQueryError, with the name of the feature, on Spark 4.1: its Python data sources have no limits for batches,
    and its planner gives the hidden columns of SparkSql, such as `offset`, no values."""
    if importlib.util.find_spec("pyspark.sql.streaming.datasource") is None:
        raise NotAQueryError(f"{feature} needs Spark 4.2 or newer, not {version('pyspark')}")

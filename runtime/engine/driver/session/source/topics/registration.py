"""Makes a Python data source known to a session whose context has no server for accumulators."""

from __future__ import annotations

from typing import Any


def register(session: Any, data_source: type) -> None:
    """As `session.dataSource.register()`, without accumulators: the JVM would send their updates to PySpark's server,
    which the driver has closed, since it unpickles what it gets (`refuse_accumulators()`)."""
    from pyspark.sql.udf import _wrap_function

    function = _wrap_function(_WithoutAccumulator(session.sparkContext), data_source)
    source = session._jvm.org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource(function)
    session._jsparkSession.dataSource().registerPython(data_source.name(), source)  # type: ignore[attr-defined]


class _WithoutAccumulator:
    """A SparkContext without its accumulator."""

    _javaAccumulator = None

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

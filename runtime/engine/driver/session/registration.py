"""Makes a Python data source known to a session of the driver."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.connectors.spark.session_client import ROWS

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSource


def register(session: Any, data_source: type[DataSource]) -> None:
    """As `session.dataSource.register()`, without accumulators: the JVM would send their updates to PySpark's server,
    which the driver has closed, since it unpickles what it gets (`refuse_accumulators()`)."""
    from pyspark.sql.udf import _wrap_function

    context = session.sparkContext
    function = _wrap_function(_FunctionContext(context, _python(context)), data_source)
    source = session._jvm.org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource(function)
    session._jsparkSession.dataSource().registerPython(data_source.name(), source)


class _FunctionContext:
    """A SparkContext without its accumulator, with the Python that runs functions."""

    _javaAccumulator = None

    def __init__(self, context: Any, python: str) -> None:
        self._context, self.pythonExec = context, python

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def _python(context: Any) -> str:
    """The Python for the data source. Of a local driver it is a script that leaves out Spark's archives: a planner, for
    which Spark waits ten seconds, would compile PySpark's modules at each start, which is most of the time it needs."""
    if ROWS not in os.environ:
        return str(context.pythonExec)
    script = Path(os.environ[ROWS], "python")
    if not script.exists():
        written = script.with_name(f".python-{os.urandom(4).hex()}")
        path = shlex.quote(os.environ.get("PYTHONPATH", ""))
        written.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {shlex.quote(sys.executable)} "$@"\n')
        written.chmod(0o700)
        written.replace(script)
    return str(script if os.access(script, os.X_OK) else context.pythonExec)

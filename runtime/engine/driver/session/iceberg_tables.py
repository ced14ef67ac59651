"""Tables of Iceberg's catalogs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runtime.engine.driver.session.merge import quoted
from runtime.engine.driver.session.plans import items


def loaded(session: Any, name: str) -> Any:
    """Iceberg's object for a table as it is now; None if the table does not exist."""
    from pyspark.errors import AnalysisException

    try:
        table = session._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, name)
    except AnalysisException:
        return None
    table.refresh()
    return table


def name_parts(session: Any, name: str) -> list[str]:
    """The parts of a table's name, such as catalog, namespace and table; ParseException if it is anything else."""
    parser = session._jsparkSession.sessionState().sqlParser()
    return [str(part) for part in items(parser.parseMultipartIdentifier(name))]


def identifier(parts: Sequence[str]) -> str:
    """A name in SQL."""
    return ".".join(map(quoted, parts))

"""Tables of Iceberg's catalogs."""

from __future__ import annotations

from typing import Any

from runtime.engine.driver.session.catalogs import check_catalog


def loaded(session: Any, name: str) -> Any:
    """Iceberg's object for a table as it is now; None if the table does not exist. CatalogError if its catalog
    cannot be used."""
    from pyspark.errors import AnalysisException

    check_catalog(session, name)
    try:
        table = session._jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, name)
    except AnalysisException:
        return None
    table.refresh()
    return table

"""Catalogs of the Spark session, used by requests that run in different threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from runtime.engine.driver.session.catalogs import check_catalog
from runtime.engine.driver.session.spark_session import SharedSession

CATALOG = {
    "spark.sql.catalog.lake": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
    "spark.sql.catalog.lake.url": "jdbc:derby:memory:lake;create=true",
}


@pytest.mark.soak
def test_a_catalog_is_known_in_a_thread_that_has_not_created_the_session() -> None:
    """As when two tasks of a sink start together: the first request of one creates the session."""
    from pyspark import SparkConf, SparkContext

    conf = SparkConf().setMaster("local[1]").set("spark.ui.enabled", "false").setAll(list(CATALOG.items()))
    context = SparkContext(conf=conf)
    try:
        session = SharedSession(context)
        session.get()
        with ThreadPoolExecutor(1) as threads:
            threads.submit(lambda: check_catalog(session.get(), "lake.shop.orders")).result(60)
    finally:
        context.stop()

"""Maintenance of Delta and Iceberg tables: small files are merged, and what only old versions use is removed.

Both formats commit a compaction as any other writer, so that batches are published meanwhile. One of two conflicting
commits fails: a MERGE is repeated then, a compaction waits for the next interval. One table is maintained at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from runtime.connectors.spark.staging import Staging
from runtime.engine.driver.session.catalogs import loaded
from runtime.engine.driver.session.delta_batches import delta_path

_running = threading.Lock()
_LISTING_TASKS = "4"
"""VACUUM lists folders with this many tasks of Spark, instead of 10,000."""


def maintain(session: Any, staging: str, target: Mapping[str, Any], expire_after: float | None) -> dict[str, Any]:
    """Compact a table, and remove versions older than `expire_after` seconds, if given. `busy`: nothing was done, since
    another table is being maintained."""
    if not _running.acquire(blocking=False):
        return {"busy": True}
    try:
        started = time.monotonic()
        (_maintain_delta if Staging(staging) is Staging.DELTA else _maintain_iceberg)(session, target, expire_after)
        return {"busy": False, "seconds": round(time.monotonic() - started, 3)}
    finally:
        _running.release()


def _maintain_delta(session: Any, target: Mapping[str, Any], expire_after: float | None) -> None:
    own = session.newSession()
    own.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", _LISTING_TASKS)
    tables, path = session._jvm.io.delta.tables.DeltaTable, delta_path(session, target)
    if not tables.isDeltaTable(own._jsparkSession, path):
        return
    table = tables.forPath(own._jsparkSession, path)
    table.optimize().executeCompaction()
    if expire_after is not None:
        table.vacuum(expire_after / 3600)


def _maintain_iceberg(session: Any, target: Mapping[str, Any], expire_after: float | None) -> None:
    table = loaded(session, target["table"])
    if table is None:
        return
    actions = session._jvm.org.apache.iceberg.spark.actions.SparkActions.get(session._jsparkSession)
    actions.rewriteDataFiles(table).option("partial-progress.enabled", "true").execute()
    if expire_after is not None:
        oldest = int((time.time() - expire_after) * 1000)
        actions.expireSnapshots(table).expireOlderThan(oldest).retainLast(1).execute()

"""Batches for a Delta table: staged as Parquet files below the table, and published by one transaction of Delta.

    <table>/.headrace/<connector>/<task>-<id>/data/…             rows
                                             /transaction.json   application and version of the transaction
                                             /batch.json         written last: the offsets of the batch

Delta has no commits that readers do not see, hence a batch is written twice: as files before its offsets are committed,
and to the table after that. Delta executes a version of an application once and ignores it when it is repeated, as long
as the versions of an application rise. An application is a partition of the connector, the first one of the batch:
the task that consumes it has published its earlier batches. The version is the next version of the table at the time
when the batch is staged; each published batch is a version of the table, so that the next batch has a higher one.

Changes are merged in the same way: the transaction is a MERGE, and its file has the key columns.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any

from runtime.engine.driver.session.merge import Merge
from runtime.engine.driver.session.merge_turns import in_turn
from runtime.engine.driver.session.spark_errors import described, spark_errors
from runtime.engine.driver.session.staging import Ranges, StagedFiles
from runtime.engine.driver.session.table_names import identifier, name_parts, quoted

_ORDERED = (("tinyint", "smallint", "int", "bigint"), ("float", "double"))
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


def is_wider(kind: str, other: str) -> bool:
    """Whether a type, by its name in SQL, holds all numbers of another one and more."""
    for names in _ORDERED:
        if kind in names and other in names:
            return names.index(kind) > names.index(other)
    first, second = _DECIMAL.fullmatch(kind), _DECIMAL.fullmatch(other)
    if first is None or second is None or kind == other:
        return False
    (precision, scale), (other_precision, other_scale) = map(int, first.groups()), map(int, second.groups())
    return scale >= other_scale and precision - scale >= other_precision - other_scale


_log = logging.getLogger(__name__)

_TRANSACTION = "transaction.json"
_MERGE, _TIME_ZONE = "merge", "spark.sql.session.timeZone"
_WIDENING = "delta.enableTypeWidening"
_SETTING = "spark.databricks.delta.write."
"""Settings of a session with which a MERGE is executed once; writers have options for that."""


class DeltaBatches(StagedFiles):
    """Batches for the Delta table at a path, or for one of a catalog."""

    def __init__(self, session: Any, target: Mapping[str, Any], connector: str) -> None:
        self._table, self._connector = target, connector
        files = {"format": "parquet", "options": {}, "partition_by": [], "path": delta_path(session, target)}
        super().__init__(session, files, connector)
        table = identifier(name_parts(session, target["table"])) if target["table"] else ""
        self._name = table or f"delta.{quoted(str(self._root.toString()))}"

    def complete(self, batch: str, ranges: Ranges) -> None:
        topic = min(ranges)
        application = f"headrace/{self._connector}/{topic}/{min(ranges[topic], key=int)}"
        transaction = {"txnAppId": application, "txnVersion": self._next_version()}
        merge = Merge.of(self._table)
        self.store(batch, _TRANSACTION, transaction if merge is None else {**transaction, _MERGE: merge.text()})
        super().complete(batch, ranges)

    def publish(self, batch: str) -> bool:
        """Write the staged rows to the table. Then the file of the transaction is removed before all others: a kill
        must not leave a batch that is still to be published and has lost its rows."""
        transaction = self.load(batch, _TRANSACTION)
        if transaction is None:
            self.check_folder()
        else:
            self._publish(batch, transaction)
            self.remove(batch, _TRANSACTION)
        self.discard(batch)
        return transaction is not None

    def _publish(self, batch: str, transaction: Mapping[str, Any]) -> None:
        merge = transaction.get(_MERGE)
        try:
            frame = self._session.read.parquet(self.data_path(batch))
            if merge is None:
                self._append(frame, transaction)
            else:
                self._merge(batch, frame, transaction, Merge.parse(merge))
        except spark_errors() as error:
            if self.load(batch, _TRANSACTION) is not None:
                raise
            _log.info("Batch %s was published or discarded by another task meanwhile: %s", batch, described(error))

    def _append(self, frame: Any, options: Mapping[str, Any]) -> None:
        if self._table.get("widen"):
            frame = self._widened(frame)
        writer = frame.write.format("delta").mode("append").options(**self._table["options"], **options)
        if self._table["partition_by"]:
            writer = writer.partitionBy(*self._table["partition_by"])
        if self._table["table"]:
            writer.saveAsTable(self._table["table"])
        else:
            writer.save(self._table["path"])

    def _merge(self, batch: str, frame: Any, transaction: Mapping[str, Any], merge: Merge) -> None:
        """Merge the changes, in a session whose settings are those of the transaction."""
        session = self._session.newSession()
        session.conf.set(_TIME_ZONE, self._session.conf.get(_TIME_ZONE))
        for key in ("txnAppId", "txnVersion"):
            session.conf.set(_SETTING + key, str(transaction[key]))

        def run() -> None:
            self._adapt(frame.select(*map(quoted, merge.columns(frame.columns))).limit(0))
            session.read.parquet(self.data_path(batch)).createOrReplaceTempView("changes")
            session.sql(merge.statement(self._name, "changes", frame.columns)).collect()

        in_turn(self._name, run)

    def _adapt(self, rows: Any) -> None:
        """Create the table, or change its columns to those of the rows. Appending none does both."""
        known = self._columns()
        types = {name: (known.get(name), kind) for name, kind in _named_types(rows).items()}
        if any(old != new and (old is None or not is_wider(old, new)) for old, new in types.values()):
            self._append(rows, {})

    def _columns(self) -> Mapping[str, str]:
        """The types of the table's columns."""
        if not self._next_version():
            return {}
        return _named_types(self._session.read.format("delta").load(str(self._root.toString())))

    def _widened(self, rows: Any) -> Any:
        """The rows with the types of the table where these are wider, as another task has stored larger numbers; and
        the property of the table with which an append may widen its types, if it has to."""
        known, types = self._columns(), _named_types(rows)
        casts = {name: known[name] for name, kind in types.items() if name in known and is_wider(known[name], kind)}
        if any(known.get(name, kind) not in (kind, casts.get(name)) for name, kind in types.items()):
            self._session.newSession().sql(f"ALTER TABLE {self._name} SET TBLPROPERTIES ('{_WIDENING}' = 'true')")
        return rows.withColumns({name: rows[quoted(name)].cast(kind) for name, kind in casts.items()})

    def _next_version(self) -> int:
        """The version that the table would have after a commit."""
        tables, session = self._jvm.io.delta.tables.DeltaTable, self._session._jsparkSession
        path = str(self._root.toString())
        if not tables.isDeltaTable(session, path):
            return 0
        last = tables.forPath(session, path).history(1).first()
        return int(last.getLong(last.fieldIndex("version"))) + 1


def _named_types(frame: Any) -> dict[str, str]:
    return {field.name.lower(): field.dataType.simpleString() for field in frame.schema}


def delta_path(session: Any, target: Mapping[str, Any]) -> str:
    """The path of a target's table."""
    return _location(session, target["table"]) if target["table"] else str(target["path"])


def _location(session: Any, table: str) -> str:
    """The path of a table of a catalog. AnalysisException if it does not exist or belongs to another format."""
    detail = session._jvm.io.delta.tables.DeltaTable.forName(session._jsparkSession, table).detail().first()
    return str(detail.getString(detail.fieldIndex("location")))

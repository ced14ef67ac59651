"""Batches of changes for an Iceberg table: each is staged as a table beside it, and published by a MERGE.

    <table>__headrace_<connector>_<batch>     created empty, then the changes in one snapshot, among whose properties
                                              are the offsets of the batch
    <table>                                   published: the changes are merged, then the table above is dropped

Iceberg cannot publish a snapshot that deletes rows after others have written, hence a batch is written twice. A MERGE
may be repeated: it gives the rows of its keys the same values again, as long as no later batch with these keys has been
published. The task publishes its next batch only after the table of the last one has been dropped, and a MERGE by a
former owner that starts later finds no changes to merge. One that runs at the same time fails, since Iceberg refuses
a commit if rows that it depends on have changed.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from runtime.engine.driver.session.catalogs import check_catalog, loaded
from runtime.engine.driver.session.iceberg_tables import create_table
from runtime.engine.driver.session.merge import Merge
from runtime.engine.driver.session.merge_turns import in_turn
from runtime.engine.driver.session.spark_errors import described, spark_errors
from runtime.engine.driver.session.staging import Ranges, StagedBatches
from runtime.engine.driver.session.table_names import identifier, name_parts, quoted

_log = logging.getLogger(__name__)

_RANGES, _MERGE = "headrace.offsets", "headrace.merge"
_PREFIXES = "org.apache.iceberg.io.SupportsPrefixOperations"
_NO_NAMESPACE = ("NoSuchNamespaceException", "SCHEMA_NOT_FOUND")
_ANY_SCHEMA = "write.spark.accept-any-schema"


class IcebergChanges(StagedBatches):
    """Batches for a table of one of Spark's catalogs."""

    def __init__(self, session: Any, target: Mapping[str, Any], connector: str) -> None:
        self._session, self._target = session, target
        *namespace, name = name_parts(session, target["table"])
        self._namespace, self._table = identifier(namespace), identifier([*namespace, name])
        self._mark = f"__headrace_{sha256(connector.encode()).hexdigest()[:12]}_"
        self._prefix = name + self._mark

    def stage(self, batch: str, frame: Any, ranges: Ranges) -> None:
        """The table exists before its files: those of a write that was killed would be in no table, and stay."""
        merge = Merge.of(self._target)
        assert merge is not None
        self.discard(batch)
        staged = self._staged(batch)
        create_table(self._session, staged, frame)
        properties = {_RANGES: json.dumps(ranges), _MERGE: merge.text()}
        options = {f"snapshot-property.{key}": value for key, value in properties.items()}
        frame.writeTo(staged).options(**options).append()

    def publish(self, batch: str) -> bool:
        properties = self._properties(batch)
        if properties is None:
            return False
        try:
            in_turn(self._table, lambda: self._merge(batch, Merge.parse(properties[_MERGE])))
        except spark_errors() as error:
            if self._properties(batch) is not None:
                raise
            _log.info("Batch %s was published or discarded by another task meanwhile: %s", batch, described(error))
        self.discard(batch)
        return True

    def _merge(self, batch: str, merge: Merge) -> None:
        changes = self._session.table(self._staged(batch))
        self._adapt(changes.select(*map(quoted, merge.columns(changes.columns))).limit(0))
        self._session.sql(merge.statement(self._table, self._staged(batch), changes.columns)).collect()

    def _adapt(self, rows: Any) -> None:
        """Create the table, or change its columns to those of the rows."""
        table = loaded(self._session, self._table)
        if table is None:
            create_table(self._session, self._table, rows, self._target["partition_by"])
            return
        if str(table.properties().get(_ANY_SCHEMA)).lower() == "true":  # Spark does not resolve columns then
            _log.warning("The property %s of %s is removed: Spark cannot merge with it", _ANY_SCHEMA, self._table)
            table.updateProperties().remove(_ANY_SCHEMA).commit()
        if "mergeSchema" in self._target["options"]:
            schema = self._session._jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(rows._jdf.schema())
            table.updateSchema().unionByNameWith(schema).commit()  # nothing if all columns exist

    def discard(self, batch: str) -> None:
        table = loaded(self._session, self._staged(batch))
        if table is None:
            return
        if table.currentSnapshot() is None:
            self._delete_uncommitted(table, batch)
        self._session.sql(f"DROP TABLE IF EXISTS {self._staged(batch)} PURGE").collect()

    def _delete_uncommitted(self, table: Any, batch: str) -> None:
        """The files of a write that was killed, which belong to no snapshot and so are not dropped with the table."""
        place, files = str(table.location()), table.io()
        if not self._session._jvm.py4j.reflection.TypeUtil.isInstanceOf(_PREFIXES, files):
            _log.warning("Files of a write that was killed may remain in %s, whose store lists no files", place)
        elif self._prefix + batch not in place:
            _log.warning("Files of a write that was killed may remain in %s, a folder without the table's name", place)
        else:
            try:
                files.deletePrefix(f"{place}/data/")
            except spark_errors() as error:  # such as a store that does not allow lists
                _log.warning("Files of a write that was killed may remain in %s: %s", place, described(error))

    def batches(self) -> list[str]:
        check_catalog(self._session, self._target["table"])
        place = f" IN {self._namespace}" if self._namespace else ""
        try:
            rows = self._session.sql(f"SHOW TABLES{place} LIKE '*{self._mark}*'").collect()
        except spark_errors() as error:
            if not any(name in str(error) for name in _NO_NAMESPACE):
                raise
            return []  # the namespace is created with the first batch
        names = [str(row.tableName) for row in rows]
        return [name.removeprefix(self._prefix) for name in names if name.startswith(self._prefix)]

    def ranges(self, batch: str) -> Ranges | None:
        properties = self._properties(batch)
        return None if properties is None else json.loads(properties[_RANGES])

    def _properties(self, batch: str) -> Mapping[str, str] | None:
        """Those of the batch; None if it is incomplete or not staged."""
        table = loaded(self._session, self._staged(batch))
        snapshot = None if table is None else table.currentSnapshot()
        return None if snapshot is None else {key: str(snapshot.summary()[key]) for key in (_RANGES, _MERGE)}

    def _staged(self, batch: str) -> str:
        place = f"{self._namespace}." if self._namespace else ""
        return place + identifier([self._prefix + batch])

"""Batches for an Iceberg table: each is staged as a branch with one snapshot, and published by cherry-picking it.

    branch headrace/<connector>/<task>-<id>      its snapshot has the offsets of the batch among its properties
    branch main                                  published: the files of the snapshot; the branch is dropped in the
                                                 same commit of Iceberg

Iceberg refuses to pick a snapshot twice, so that publishing may be repeated. A branch keeps its snapshot from being
expired.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from runtime.engine.driver.session.catalogs import loaded
from runtime.engine.driver.session.iceberg_tables import create_table
from runtime.engine.driver.session.spark_errors import described, spark_errors
from runtime.engine.driver.session.staging import Ranges, StagedBatches
from runtime.engine.driver.session.table_names import identifier, name_parts

_log = logging.getLogger(__name__)

_BATCH, _RANGES = "headrace.batch", "headrace.offsets"
_CREATED = {"write.spark.accept-any-schema": "true"}
"""Properties of tables that are created here: needed for new columns."""


class IcebergBranches(StagedBatches):
    """Batches for a table of one of Spark's catalogs."""

    def __init__(self, session: Any, target: Mapping[str, Any], connector: str) -> None:
        self._session, self._target = session, target
        self._prefix = f"headrace/{quote(connector, safe='')}/"

    def stage(self, batch: str, frame: Any, ranges: Ranges) -> None:
        table = self._loaded() or self._created(frame)
        branch = self._prefix + batch
        if table.refs().get(branch) is not None:
            table.manageSnapshots().removeBranch(branch).commit()
        table.manageSnapshots().createBranch(branch).commit()
        writer = frame.writeTo(f"{self._target['table']}.`branch_{branch}`").options(**self._target["options"])
        properties = {_BATCH: batch, _RANGES: json.dumps(ranges)}
        writer.options(**{f"snapshot-property.{key}": value for key, value in properties.items()}).append()

    def publish(self, batch: str) -> bool:
        """Make the snapshot of the branch a part of the table."""
        table, branch = self._loaded(), self._prefix + batch
        if table is None or (reference := table.refs().get(branch)) is None:
            return False
        snapshot = reference.snapshotId()
        try:
            table.manageSnapshots().cherrypick(snapshot).removeBranch(branch).commit()
        except spark_errors() as error:
            table.refresh()
            if table.refs().get(branch) is not None:
                raise
            _log.info("Batch %s was published or discarded by another task meanwhile: %s", batch, described(error))
        return True

    def discard(self, batch: str) -> None:
        table, branch = self._loaded(), self._prefix + batch
        if table is not None and table.refs().get(branch) is not None:
            table.manageSnapshots().removeBranch(branch).commit()

    def batches(self) -> list[str]:
        table = self._loaded()
        names = [] if table is None else [str(name) for name in table.refs()]
        return [name.removeprefix(self._prefix) for name in names if name.startswith(self._prefix)]

    def ranges(self, batch: str) -> Ranges | None:
        table = self._loaded()
        snapshot = None if table is None else table.snapshot(self._prefix + batch)
        if snapshot is None or snapshot.summary().get(_BATCH) != batch:  # the one from which the branch was created
            return None
        ranges: Ranges = json.loads(snapshot.summary()[_RANGES])
        return ranges

    def _loaded(self) -> Any:
        """The table as it is now; None if it does not exist."""
        return loaded(self._session, self._target["table"])

    def _created(self, frame: Any) -> Any:
        table = identifier(name_parts(self._session, self._target["table"]))
        create_table(self._session, table, frame, self._target["partition_by"], _CREATED)
        return self._loaded()

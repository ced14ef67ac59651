"""The staged batches of an Iceberg table, of rows and of changes: a connector may have left some of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.engine.driver.session.iceberg_batches import IcebergBranches
from runtime.engine.driver.session.iceberg_changes import IcebergChanges
from runtime.engine.driver.session.staging import Ranges, StagedBatches


class IcebergTarget(StagedBatches):
    """Batches for a table of one of Spark's catalogs. `target` as in requests."""

    def __init__(self, session: Any, target: Mapping[str, Any], connector: str) -> None:
        kinds: list[StagedBatches] = [
            IcebergBranches(session, target, connector), IcebergChanges(session, target, connector)
        ]  # fmt: skip
        self._kinds = kinds if target.get("merge") is None else kinds[::-1]

    def stage(self, batch: str, frame: Any, ranges: Ranges) -> None:
        self._kinds[0].stage(batch, frame, ranges)

    def publish(self, batch: str) -> bool:
        return any(kind.publish(batch) for kind in self._kinds)

    def discard(self, batch: str) -> None:
        for kind in self._kinds:
            kind.discard(batch)

    def batches(self) -> list[str]:
        return [batch for kind in self._kinds for batch in kind.batches()]

    def ranges(self, batch: str) -> Ranges | None:
        return next((ranges for kind in self._kinds if (ranges := kind.ranges(batch)) is not None), None)

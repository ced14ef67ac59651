"""The staged batches of each kind of target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime.connectors.spark.staging import Staging
from runtime.engine.driver.session.delta_batches import DeltaBatches
from runtime.engine.driver.session.frames import format_name
from runtime.engine.driver.session.iceberg_batches import IcebergBranches
from runtime.engine.driver.session.staging import StagedBatches, StagedFiles


def staged_batches(session: Any, staging: str, target: Mapping[str, Any], connector: str) -> StagedBatches:
    """The staged batches of a connector. `target` as in requests."""
    match Staging(staging):
        case Staging.DELTA:
            return DeltaBatches(session, target, connector)
        case Staging.ICEBERG:
            return IcebergBranches(session, target, connector)
        case _:
            return StagedFiles(session, target, connector)


def write_directly(frame: Any, target: Mapping[str, Any]) -> None:
    """Write rows to a target that has no staged batches."""
    writer = frame.write.format(format_name(target["format"])).mode(target["mode"]).options(**target["options"])
    if target["partition_by"]:
        writer = writer.partitionBy(*target["partition_by"])
    if target["table"]:
        writer.saveAsTable(target["table"])
    else:
        writer.save(target["path"] or None)

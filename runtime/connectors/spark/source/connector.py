"""SparkSource writes the rows of streams, tables and queries of Spark to a topic."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.api.task import AlteredOffsets
from runtime.connectors.checked_config import ExactSourceConnector
from runtime.connectors.spark.source.definition import CONFIG, SparkSourceSettings
from runtime.connectors.spark.source.position import RowPosition, check_partition
from runtime.connectors.spark.source.task import SparkSourceTask


class SparkSourceConnector(ExactSourceConnector):
    """Has one task: Spark itself divides the work of a batch."""

    java_name = "headrace.SparkSourceConnector"
    task_class = SparkSourceTask
    config_def = CONFIG

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> bool:
        """Always True: each batch of Spark is a transaction then."""
        return True

    def alter_offsets(self, config: Mapping[str, str], offsets: AlteredOffsets) -> bool:
        """True after checking the form of the offset. The task finds out whether the checkpoint has the batch."""
        name = self._source_name(config)
        for partition, offset in offsets:
            if offset is not None:
                check_partition(partition, name)
                RowPosition.of(offset)
        return True

    def _source_name(self, config: Mapping[str, str]) -> str:
        return SparkSourceSettings.of(config).source_name

"""The HttpSource connector: its definition, and the check of altered offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runtime.api.config.definition import ConfigValue
from runtime.api.connector import ExactlyOnceSupport, SourceConnector
from runtime.api.errors import ConnectError
from runtime.api.task import Offset, Partition
from runtime.connectors.http.inference import SCHEMA_LEVEL, type_in
from runtime.connectors.http.source_config import INFER, SCHEMA, SOURCE_KEYS, source_settings, source_values
from runtime.connectors.http.source_task import HttpSourceTask
from runtime.connectors.http.stream import Stream


class HttpSourceConnector(SourceConnector):
    """Polls a JSON API with one task."""

    java_name = "headrace.HttpSourceConnector"
    task_class = HttpSourceTask
    config_def = SOURCE_KEYS

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return source_values(config)

    def start(self, config: Mapping[str, str]) -> None:
        source_settings(config)
        super().start(config)

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[Partition | None, Offset | None]]
    ) -> bool:
        """Accepts the partitions of the stream, of its parents and of its schema, with offsets as in `Traversal`, or a
        schema."""
        settings = source_settings(config)
        stream = Stream.of(config)
        schema = stream.partition_of(SCHEMA_LEVEL) if settings[SCHEMA] == INFER else None
        for partition, offset in offsets:
            if offset is None:
                continue  # a reset is valid for any partition, such as that of an earlier URL
            if partition is not None and partition == schema:
                type_in(offset)
                continue
            owner = None if partition is None else stream.check_partition(partition)
            if owner is None:
                expected = " or ".join(str(each.partition(dict.fromkeys(each.names, "…"))) for each in stream.ancestry)
                raise ConnectError(f"A source partition of this configuration is {expected}, not {partition}")
            owner.beginning(offset)
        return True

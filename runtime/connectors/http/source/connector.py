"""The HttpSource connector: its definition, and the check of altered offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from runtime.api.config.definition import ConfigValue
from runtime.api.connector import ExactlyOnceSupport, SourceConnector, group_partitions
from runtime.api.errors import ConnectError
from runtime.api.task import AlteredOffsets, Offset, Partition
from runtime.connectors.http.source.config import INFER, SCHEMA, SOURCE_KEYS, source_values, stream_settings
from runtime.connectors.http.source.inference import SCHEMA_LEVEL, type_in
from runtime.connectors.http.source.manifest.translation import MANIFEST, STREAMS, stream_configs
from runtime.connectors.http.source.stream import Stream
from runtime.connectors.http.source.task import HttpSourceTask


class HttpSourceConnector(SourceConnector):
    """Polls a JSON API: one stream, or those of a manifest."""

    java_name = "headrace.HttpSourceConnector"
    task_class = HttpSourceTask
    config_def = SOURCE_KEYS

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        return source_values(config)

    def start(self, config: Mapping[str, str]) -> None:
        self._names = list(stream_configs(config))
        stream_settings(config)
        super().start(config)

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        """The streams of a manifest in as many tasks as possible; otherwise one task."""
        if not self.config.get(MANIFEST):
            return [self.config]
        groups = group_partitions(self._names, min(len(self._names), max_tasks))
        return [{**self.config, STREAMS: ",".join(names)} for names in groups]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(self, config: Mapping[str, str], offsets: AlteredOffsets) -> bool:
        """Accepts the partitions of the streams, of their parents and schemas, with offsets as in `Traversal`, or a
        schema."""
        streams = [_Partitions(settings, of_stream) for settings, of_stream in stream_settings(config)]
        for partition, offset in offsets:
            if offset is None:
                continue  # a reset is valid for any partition, such as that of an earlier URL
            if partition is None or not any(stream.check(partition, offset) for stream in streams):
                expected = " or ".join(str(each) for stream in streams for each in stream.examples())
                raise ConnectError(f"A source partition of this configuration is {expected}, not {partition}")
        return True


class _Partitions:
    """The source partitions of a stream."""

    def __init__(self, settings: Mapping[str, Any], config: Mapping[str, str]) -> None:
        self._stream = Stream.of(config)
        self._schema = self._stream.partition_of(SCHEMA_LEVEL) if settings[SCHEMA] == INFER else None

    def check(self, partition: Partition, offset: Offset) -> bool:
        """Whether the partition is one of them; ConnectError if it is, but the offset does not fit."""
        if partition == self._schema:
            type_in(offset)
            return True
        owner = self._stream.check_partition(partition)
        if owner is not None:
            owner.beginning(offset)
        return owner is not None

    def examples(self) -> list[dict[str, Any]]:
        """The partitions, of parents with an ellipsis."""
        return [each.partition(dict.fromkeys(each.names, "…")) for each in self._stream.ancestry]

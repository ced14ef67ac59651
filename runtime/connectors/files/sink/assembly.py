"""The parts of a FilesSink task; imports pyarrow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from runtime.api.data.record import SinkRecord, TopicPartition
from runtime.connectors.files.folder_store import FolderStore
from runtime.connectors.files.formats import FileFormat, extension
from runtime.connectors.files.sink.content import ArrowContent, Content, LineContent
from runtime.connectors.files.sink.definition import FilesSinkSettings
from runtime.connectors.files.sink.file_set import RotationRules
from runtime.connectors.files.sink.file_set_journal import FileSetJournal
from runtime.connectors.files.sink.file_writers import WriteSettings, avro_schema
from runtime.connectors.files.sink.ownership import PartitionOwner
from runtime.connectors.files.sink.partition_writer import PartitionWriter, WritingRules
from runtime.connectors.files.sink.partitioner import Partitioner
from runtime.connectors.files.sink.records_to_arrow import ArrowConversion
from runtime.connectors.files.sink.uploads import Uploads


@dataclass(frozen=True, slots=True)
class SinkParts:
    """The store, the rules and the upload threads of a task."""

    store: FolderStore
    rules: WritingRules
    uploads: Uploads
    connector: str
    by_clock: bool
    check_owned: Callable[[], None]

    def writer(self, tp: TopicPartition) -> PartitionWriter:
        """A writer for a partition, which knows the file sets that the clock has ended earlier."""
        owner = PartitionOwner(self.store, tp, self.check_owned)
        journal = FileSetJournal(self.store, owner, self.connector, tp) if self.by_clock else None
        return PartitionWriter(tp, self.rules, self.uploads, owner, journal)


def assemble(
    settings: FilesSinkSettings,
    connector: str,
    clock: Callable[[], float],
    report: Callable[[SinkRecord, Exception], None],
    written: Callable[[], None],
    check_owned: Callable[[], None],
) -> SinkParts:
    """The parts for these settings. `written` is called in any thread after each file, `check_owned` before a file is
    published."""
    store = FolderStore(settings.location)
    conversion = ArrowConversion()

    def content() -> Content:
        if settings.format is FileFormat.AVRO:
            return ArrowContent(conversion, settings.merges, avro_schema)
        return LineContent() if settings.format is FileFormat.JSON else ArrowContent(conversion, settings.merges)

    rules = WritingRules(
        RotationRules(settings.flush_size, settings.rotate_bytes, settings.rotate_interval),
        Partitioner(settings.partition_fields, settings.path_format, settings.timezone, store.longest_name),
        settings.timestamp_field,
        extension(settings.format, settings.compression),
        content,
        clock,
        report,
    )
    write = WriteSettings(settings.format, settings.compression, settings.delimiter, settings.header)
    uploads = Uploads(write, settings.upload_threads, settings.upload_retries, written)
    return SinkParts(store, rules, uploads, connector, settings.rotate_schedule is not None, check_owned)

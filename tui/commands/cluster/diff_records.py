"""`diff records`: compares two records of a topic."""

from __future__ import annotations

from tui.commands.arguments import positional
from tui.commands.base import refuse
from tui.commands.cluster.records import DecodingCommand
from tui.commands.context import CommandContext
from tui.commands.result import Result, Table
from tui.errors import NotFound
from tui.offsets.positions import AbsolutePosition
from tui.offsets.seek import in_thread
from tui.topics.page_scan import ReadLimits
from tui.topics.position import RecordPosition, page_at, parse
from tui.topics.reader import TopicReader
from tui.topics.record_diff import differences
from tui.topics.records import TopicRecord


class DiffRecords(DecodingCommand):
    """Compare two records of a topic: key, headers and value, field by field where they are JSON.

    Ends with exit code 8 if they differ; positions and times do not count. Keys and values are decoded by the
    converters of --connector, or by their form. The context must name its brokers.
    """

    verb = "diff records"

    topic = positional("TOPIC", "the topic")
    first = positional("PARTITION@OFFSET", "the first record")
    second = positional("PARTITION@OFFSET", "the second record")

    def check(self) -> None:
        for text in (self.first, self.second):
            is_offset = isinstance(parse(text).position, AbsolutePosition)
            refuse(not is_offset, f"{text!r} is not the position of a record: expected PARTITION@OFFSET")

    async def run(self, context: CommandContext) -> Result:
        settings = context.cluster.kafka_settings()
        decode = await self.decoder(context.cluster)
        reader = TopicReader(settings, self.committed)

        def read() -> list[TopicRecord]:
            try:
                return [self._record(reader, parse(text)) for text in (self.first, self.second)]
            finally:
                reader.close()

        first, second = map(decode.decoded, await in_thread(read))
        fields = differences(first, second)
        raw = {
            "first": first.as_json(),
            "second": second.as_json(),
            "differences": [difference.as_json() for difference in fields],
        }
        rows = tuple((difference.field, *difference.texts) for difference in fields)
        if not fields:
            context.terminal.report("no differences")
        return Result(
            raw, Table(("FIELD", self.first, self.second), rows), names=tuple(r[0] for r in rows), pending=bool(fields)
        )

    def _record(self, reader: TopicReader, at: RecordPosition) -> TopicRecord:
        """The record at this offset. Raises NotFound if the offset has none, as after compaction."""
        page = page_at(reader, self.topic, at, ReadLimits(1))
        assert isinstance(at.position, AbsolutePosition)
        offset = at.position.offset
        if page.records and page.records[0].offset == offset:
            return page.records[0]
        (partition,) = page.starts
        following = f"; the next record is {partition}@{page.records[0].offset}" if page.records else ""
        raise NotFound(f"topic {self.topic} has no record at {partition}@{offset}{following}", 404)

"""`records`: reads records of a topic from the brokers."""

from __future__ import annotations

from datetime import UTC, datetime

from tui.commands.arguments import flag, integer, option, positional
from tui.commands.base import Command, refuse
from tui.commands.context import CommandCluster, CommandContext
from tui.commands.result import Result, Table
from tui.offsets.seek import in_thread
from tui.topics.decoding import DecodedRecord, RecordDecoder, decoder
from tui.topics.page_scan import MAX_SCANNED, ReadLimits, limits_text
from tui.topics.position import RecordPosition, page_at, parse
from tui.topics.reader import TopicReader
from tui.topics.records import RecordPage


class DecodingCommand(Command):
    """A command that reads records from the brokers."""

    connector = option(
        "-c", "--connector", metavar="NAME", help="decode with the converters of a connector", convert=str
    )
    key_converter = option("--key-converter", metavar="CLASS", help="for example StringConverter", convert=str)
    value_converter = option("--value-converter", metavar="CLASS", help="for example AvroConverter", convert=str)
    committed = flag("--committed", help="only records of committed transactions")

    async def decoder(self, cluster: CommandCluster) -> RecordDecoder:
        """The decoder for these options. Raises NotFound for an unknown connector."""
        from tui.contexts.secrets import resolved

        config = await cluster.connect.config(self.connector) if self.connector else {}
        registry = resolved(cluster.profile.registry)
        return decoder(config, registry, self.key_converter or "", self.value_converter or "")


MAX_RECORDS = 10_000
DEFAULT_RECORDS = 20
SECONDS = 60.0  # the longest time for a search
COLUMNS = ("PARTITION", "OFFSET", "TIME", "KEY", "VALUE")


class Records(DecodingCommand):
    """Show records of a topic, by default the newest ones; nothing is committed and no group is joined.

    Keys and values are decoded by the converters of --connector, or by their form. The context must name its brokers.
    """

    verb = "records"

    topic = positional("TOPIC", "the topic")
    limit = option(
        "-n", "--limit", metavar="N", help=f"the number of records, by default {DEFAULT_RECORDS}", convert=integer
    )
    start = option(
        "-f",
        "--from",
        metavar="POSITION",
        help="earliest, latest, a time, `1h ago`, an offset or PARTITION@OFFSET",
        convert=str,
    )
    partition = option("-p", "--partition", metavar="N", help="only this partition", convert=integer)
    text = option("-g", "--grep", metavar="TEXT", help="only records that contain the text", convert=str)
    scan = option(
        "--scan",
        metavar="N",
        help=f"the number of records that --grep reads, by default {MAX_SCANNED:,}",
        convert=integer,
    )

    def check(self) -> None:
        refuse(not 1 <= self._limit <= MAX_RECORDS, f"-n must be between 1 and {MAX_RECORDS:,}")
        refuse(self.scan is not None and self.scan < 1, "--scan must be at least 1")
        self._position()

    @property
    def _limit(self) -> int:
        return DEFAULT_RECORDS if self.limit is None else self.limit

    def _position(self) -> RecordPosition:
        return parse(self.start or "latest", self.partition)

    async def run(self, context: CommandContext) -> Result:
        settings = context.cluster.kafka_settings()
        decode = await self.decoder(context.cluster)
        reader = TopicReader(settings, self.committed)
        limits = ReadLimits(self._limit, self.scan or MAX_SCANNED, SECONDS)
        text = self.text

        def read() -> RecordPage:
            matches = None if text is None else lambda record: decode.decoded(record).contains(text)
            try:
                return page_at(reader, self.topic, self._position(), limits, matches)
            finally:
                reader.close()

        page = await in_thread(read)
        if page.is_cut:
            context.terminal.report(why_cut(page, limits))
        decoded = [decode.decoded(record) for record in page.records]
        return Result(
            [decoded.as_json() for decoded in decoded],
            Table(COLUMNS, tuple(map(_row, decoded))),
            names=tuple(decoded.record.place for decoded in decoded),
        )


def why_cut(page: RecordPage, limits: ReadLimits) -> str:
    """The limit that ended the page before it was full, and the remedy."""
    if page.scanned >= limits.scanned:
        return (
            f"read {page.scanned:,} records without finding {limits.records}; use --scan to read more, or --from to "
            "start elsewhere"
        )
    return (
        f"read {page.scanned:,} records up to {limits_text(limits.seconds)}, with {len(page.records)} of "
        f"{limits.records}; use --from to start elsewhere"
    )


def _row(decoded: DecodedRecord) -> tuple[str | int, ...]:
    record = decoded.record
    at = datetime.fromtimestamp(record.timestamp / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return (record.partition, record.offset, at if record.timestamp else "", decoded.key.line, decoded.value.line)

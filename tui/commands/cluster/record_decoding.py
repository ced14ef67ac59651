"""The options by which commands decode records."""

from __future__ import annotations

from tui.commands.arguments import flag, option
from tui.commands.base import Command
from tui.commands.context import CommandCluster
from tui.topics.decoding import RecordDecoder, decoder


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

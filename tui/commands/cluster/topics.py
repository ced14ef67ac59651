"""`get topics`: the topics that connectors have used."""

from __future__ import annotations

from tui.commands.arguments import positionals, regex_flag
from tui.commands.base import Command
from tui.commands.context import CommandCluster, CommandContext
from tui.commands.result import Result, Table
from tui.commands.targets import select_names
from tui.errors import NotFound, naming


class GetTopics(Command):
    """Show the topics that connectors have used since they were created or their topics were reset."""

    verb = "get topics"

    names = positionals("NAME", "connectors; globs are allowed")
    regex = regex_flag()

    async def run(self, context: CommandContext) -> Result:
        topics_by_name: dict[str, list[str]] = {}
        for name in await select_names(context.cluster.connect, self.names, self.regex):
            with naming(name):
                response = await context.cluster.connect.topics(name)
            topics_by_name[name] = sorted((response.get(name) or {}).get("topics") or ())
        await self._check_existing(context.cluster, [name for name, topics in topics_by_name.items() if not topics])
        rows = tuple((name, topic) for name, topics in topics_by_name.items() for topic in topics)
        every = tuple(dict.fromkeys(topic for _, topic in rows))
        return Result(
            {name: {"topics": topics} for name, topics in topics_by_name.items()},
            Table(("NAME", "TOPIC"), rows),
            "",
            every,
        )

    async def _check_existing(self, cluster: CommandCluster, names: list[str]) -> None:
        """Raises NotFound for an unknown connector, for which workers response as for one without topics."""
        known = set(await cluster.connect.names()) if names else set()
        for name in names:
            if name not in known:
                raise NotFound(f"Connector {name} not found", 404)

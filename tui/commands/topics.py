"""get topics: which topics connectors have used."""

from __future__ import annotations

from tui.commands.arguments import by_regex, words
from tui.commands.base import Command, CommandContext
from tui.commands.result import Result, Table
from tui.commands.targets import chosen
from tui.errors import NotFound, about


class GetTopics(Command):
    """Show the topics connectors have used since they were made, or since that was forgotten."""

    verb = "get topics"

    names = words("NAME", "connectors; globs are fine")
    regex = by_regex()

    async def run(self, context: CommandContext) -> Result:
        found: dict[str, list[str]] = {}
        for name in await chosen(context.connect, self.names, self.regex):
            with about(name):
                answer = await context.connect.topics(name)
            found[name] = sorted((answer.get(name) or {}).get("topics") or ())
        await self._exist(context, [name for name, topics in found.items() if not topics])
        rows = tuple((name, topic) for name, topics in found.items() for topic in topics)
        every = tuple(dict.fromkeys(topic for _, topic in rows))
        return Result(
            {name: {"topics": topics} for name, topics in found.items()}, Table(("NAME", "TOPIC"), rows), "", every
        )

    async def _exist(self, context: CommandContext, names: list[str]) -> None:
        """For an unknown name, workers answer as for a connector without topics."""
        known = set(await context.connect.names()) if names else set()
        for name in names:
            if name not in known:
                raise NotFound(f"Connector {name} not found", 404)

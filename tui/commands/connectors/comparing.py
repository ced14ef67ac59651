"""`diff`: compares connectors, or whole clusters, between two contexts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tui import model
from tui.client.client import Connect
from tui.commands.arguments import flag, option, positionals, regex_flag
from tui.commands.base import Command, CommandContext, refuse
from tui.commands.result import Result, Table
from tui.commands.targets import matches
from tui.config import comparison, promotion
from tui.config.comparison import ConnectorDifference, compared, masked
from tui.errors import NotFound

Configs = dict[str, Mapping[str, str]]  # by connector


class DiffConnectors(Command):
    """Compare the configs of connectors with those of another context: all connectors, or the named ones.

    Ends with exit code 8 if there are differences. With --mapped, configs are compared after the mapping of `promote`.
    """

    verb = "diff connectors"

    names = positionals("NAME", "connectors of this context; globs are allowed", at_least=0)
    regex = regex_flag()
    other = option("-w", "--with", metavar="CONTEXT", help="the context to compare with", convert=str)
    other_name = option("--as", metavar="NAME", help="the name there, for a single connector", convert=str)
    mapped = flag(
        "--mapped", help="apply [promote.CONTEXT] of config.toml first, so that only other differences remain"
    )
    all = flag("-a", "--all", help="also list connectors without differences")

    def check(self) -> None:
        refuse(self.other is None, "--with CONTEXT is required: the context to compare with")
        refuse(self.other_name is not None and len(self.names) != 1, "--as needs exactly one NAME")

    async def run(self, context: CommandContext) -> Result:
        here = self._named(await read_configs(context.connect))
        mapping = promotion.PromotionMapping()
        if self.mapped:
            mapping = promotion.load(context.profiles.path.parent, self.other or "")
        names = {name: self.other_name or mapping.name(name) for name in here}
        here = {name: mapping.config(config, name) for name, config in here.items()}
        async with context.other(self.other or "") as other:
            there = await read_configs(other)
        if self.names:
            there = {name: config for name, config in there.items() if name in names.values()}
        return self._result(compared(here, there, names))

    def _named(self, configs: Configs) -> Configs:
        if not self.names:
            return configs
        chosen = {name: config for name, config in configs.items() if matches(name, self.names, self.regex)}
        if not chosen:
            raise NotFound(f"no connector matches {' '.join(self.names)}", 404)
        return chosen

    def _result(self, found: Sequence[ConnectorDifference]) -> Result:
        differing = tuple(one.name for one in found if one.differs)
        shown = [one for one in found if self.all or one.differs]
        if not shown:
            return Result([], text=f"no differences between {len(found)} connectors")
        table = Table(("CONNECTOR", "DIFFERENCE", "KEY", "HERE", "THERE"), tuple(_rows(shown)))
        return Result([one.as_json() for one in shown], table, names=differing, pending=bool(differing))


async def read_configs(connect: Connect) -> Configs:
    """The config of each connector of a cluster."""
    return {name: one.config for name, one in model.connectors(await connect.expanded()).items()}


def _rows(some: list[ConnectorDifference]) -> Iterator[tuple[str | None, ...]]:
    for one in some:
        if one.kind != comparison.DIFFERS:
            yield one.name, one.kind, "", "", ""
        for change in one.changes:
            here, there = masked(change.key, change.before), masked(change.key, change.after)
            yield (
                one.name,
                one.kind,
                change.key,
                "(not set)" if here is None else here,
                ("(not set)" if there is None else there),
            )

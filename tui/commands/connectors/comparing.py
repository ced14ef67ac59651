"""`diff`: compares connectors, or whole clusters, between two contexts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tui import model
from tui.client.client import Connect
from tui.client.password_keys import PasswordKeys
from tui.commands.arguments import flag, option, positionals, regex_flag
from tui.commands.base import Command, refuse
from tui.commands.context import CommandContext
from tui.commands.result import Result, Table
from tui.commands.targets import selector
from tui.config import comparison, promotion
from tui.config.comparison import ConnectorDifference, compared
from tui.config.secrets import masked
from tui.errors import NotFound, Refused
from tui.formatting import counted
from tui.offsets import offset_differences
from tui.offsets.offset_differences import OffsetDifference

Json = Any
Configs = dict[str, Mapping[str, str]]  # by connector
Positions = dict[str, list[OffsetDifference]]  # by connector


class DiffConnectors(Command):
    """Compare the configs of connectors with those of another context: all connectors, or the named ones.

    Ends with exit code 8 if configs differ. With --mapped, configs are compared after the mapping of `promote`. With
    --offsets, the offsets of connectors that both contexts have are compared too; they do not change the exit code.
    """

    verb = "diff connectors"

    names = positionals("NAME", "connectors of this context; globs are allowed", at_least=0)
    regex = regex_flag()
    other = option("-w", "--with", "--to", metavar="CONTEXT", help="the context to compare with", convert=str)
    other_name = option("--as", metavar="NAME", help="the name there, for a single connector", convert=str)
    mapped = flag(
        "--mapped", help="apply [promote.CONTEXT] of config.toml first, so that only other differences remain"
    )
    offsets = flag("--offsets", help="also compare offsets: two requests for each connector")
    all = flag("-a", "--all", help="also list connectors without differences")

    def check(self) -> None:
        refuse(self.other is None, "--with CONTEXT is required: the context to compare with")
        refuse(self.other_name is not None and len(self.names) != 1, "--as needs exactly one NAME")

    async def run(self, context: CommandContext) -> Result:
        here = self._named(await read_configs(context.cluster.connect))
        mapping = promotion.PromotionMapping()
        if self.mapped:
            mapping = promotion.load(context.cluster.profiles.path.parent, self.other or "")
        names = {name: self.other_name or mapping.name(name) for name in here}
        here = {name: mapping.config(config, names[name]) for name, config in here.items()}
        positions: Positions = {}
        async with context.cluster.other(self.other or "") as other:
            other_configs = await read_configs(other)
            if self.names:
                other_configs = {name: config for name, config in other_configs.items() if name in names.values()}
            passwords = await context.cluster.password_keys.of(*here.values())
            passwords |= await PasswordKeys(other.plugin_config).of(*other_configs.values())
            if self.offsets:
                both = {name: names[name] for name in here if names[name] in other_configs}
                positions = await _offsets_of_both(context, other, both)
        return self._result(compared(here, other_configs, names), passwords, positions)

    def _named(self, configs: Configs) -> Configs:
        if not self.names:
            return configs
        is_chosen = selector(self.names, self.regex)
        chosen = {name: config for name, config in configs.items() if is_chosen(name)}
        if not chosen:
            raise NotFound(f"no connector matches {' '.join(self.names)}", 404)
        return chosen

    def _result(
        self, differences: Sequence[ConnectorDifference], passwords: Collection[str], positions: Positions
    ) -> Result:
        differing = tuple(difference.name for difference in differences if difference.differs)
        moved = {
            name for name, differences in positions.items() if any(difference.differs for difference in differences)
        }
        shown = [difference for difference in differences if self.all or difference.differs or difference.name in moved]
        if not shown:
            return Result([], text=f"no differences between {counted(len(differences), 'connector')}")
        rows = [
            row
            for difference in shown
            for row in _rows(difference, passwords, positions.get(difference.name, ()), self.all)
        ]
        table = Table(("CONNECTOR", "DIFFERENCE", "KEY", "HERE", "THERE"), tuple(rows))
        raw = [_json(difference, passwords, positions.get(difference.name)) for difference in shown]
        return Result(raw, table, names=differing, pending=bool(differing))


async def _offsets_of_both(context: CommandContext, other: Connect, names: Mapping[str, str]) -> Positions:
    """The offsets of connectors, by their name here; `names` has their names there. Refusals are reported."""
    by_name = {}
    for name, other_name in names.items():
        try:
            by_name[name] = await read_offsets((context.cluster.connect, name), (other, other_name))
        except Refused as error:
            context.terminal.report(f"{name}: offsets not read: {error}")
    return by_name


async def read_configs(connect: Connect) -> Configs:
    """The config of each connector of a cluster."""
    return {name: connector.config for name, connector in model.connectors(await connect.expanded()).items()}


async def read_offsets(
    here: tuple[Connect, str] | None, connects: tuple[Connect, str] | None
) -> list[OffsetDifference]:
    """The offsets of a connector in both clusters, each given with its name there, or None if it does not exist.
    Raises HeadraceError."""
    both = [() if side is None else model.offsets(await side[0].offsets(side[1])) for side in (here, connects)]
    return offset_differences.compared(*both)


def _rows(
    difference: ConnectorDifference,
    passwords: Collection[str],
    positions: Sequence[OffsetDifference],
    all_offsets: bool,
) -> Iterator[tuple[str, ...]]:
    if difference.kind != comparison.DIFFERS:
        yield difference.name, difference.kind, "", "", ""
    for change in difference.changes:
        values = (masked(change.key, value, passwords) for value in (change.before, change.after))
        yield (
            difference.name,
            difference.kind,
            change.key,
            *("(not set)" if value is None else value for value in values),
        )
    for position in positions:
        if all_offsets or position.differs:
            partition, *texts = position.texts
            yield difference.name, f"offset {position.kind}", partition, *texts


def _json(
    difference: ConnectorDifference, passwords: Collection[str], positions: Sequence[OffsetDifference] | None
) -> Json:
    content = difference.as_json(passwords)
    return content if positions is None else {**content, "offsets": [position.as_json() for position in positions]}

"""`diff`: compares connectors, or whole clusters, between two contexts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from tui import model
from tui.client.client import Connect
from tui.client.password_keys import PasswordKeys
from tui.commands.arguments import flag, option, positionals, regex_flag
from tui.commands.base import Command, CommandContext, refuse
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
    other = option("-w", "--with", metavar="CONTEXT", help="the context to compare with", convert=str)
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
        here = self._named(await read_configs(context.connect))
        mapping = promotion.PromotionMapping()
        if self.mapped:
            mapping = promotion.load(context.profiles.path.parent, self.other or "")
        names = {name: self.other_name or mapping.name(name) for name in here}
        here = {name: mapping.config(config, names[name]) for name, config in here.items()}
        positions: Positions = {}
        async with context.other(self.other or "") as other:
            there = await read_configs(other)
            if self.names:
                there = {name: config for name, config in there.items() if name in names.values()}
            passwords = await context.password_keys.of(*here.values())
            passwords |= await PasswordKeys(other.plugin_config).of(*there.values())
            if self.offsets:
                both = {name: names[name] for name in here if names[name] in there}
                positions = await _offsets_of_both(context, other, both)
        return self._result(compared(here, there, names), passwords, positions)

    def _named(self, configs: Configs) -> Configs:
        if not self.names:
            return configs
        is_chosen = selector(self.names, self.regex)
        chosen = {name: config for name, config in configs.items() if is_chosen(name)}
        if not chosen:
            raise NotFound(f"no connector matches {' '.join(self.names)}", 404)
        return chosen

    def _result(self, found: Sequence[ConnectorDifference], passwords: Collection[str], positions: Positions) -> Result:
        differing = tuple(one.name for one in found if one.differs)
        moved = {name for name, some in positions.items() if any(one.differs for one in some)}
        shown = [one for one in found if self.all or one.differs or one.name in moved]
        if not shown:
            return Result([], text=f"no differences between {counted(len(found), 'connector')}")
        rows = [row for one in shown for row in _rows(one, passwords, positions.get(one.name, ()), self.all)]
        table = Table(("CONNECTOR", "DIFFERENCE", "KEY", "HERE", "THERE"), tuple(rows))
        made = [_json(one, passwords, positions.get(one.name)) for one in shown]
        return Result(made, table, names=differing, pending=bool(differing))


async def _offsets_of_both(context: CommandContext, other: Connect, names: Mapping[str, str]) -> Positions:
    """The offsets of connectors, by their name here; `names` has their names there. Refusals are narrated."""
    found = {}
    for name, there in names.items():
        try:
            found[name] = await read_offsets((context.connect, name), (other, there))
        except Refused as error:
            context.narrate(f"{name}: offsets not read: {error}")
    return found


async def read_configs(connect: Connect) -> Configs:
    """The config of each connector of a cluster."""
    return {name: one.config for name, one in model.connectors(await connect.expanded()).items()}


async def read_offsets(here: tuple[Connect, str] | None, there: tuple[Connect, str] | None) -> list[OffsetDifference]:
    """The offsets of a connector in both clusters, each given with its name there, or None if it does not exist.
    Raises HeadraceError."""
    found = [() if side is None else model.offsets(await side[0].offsets(side[1])) for side in (here, there)]
    return offset_differences.compared(*found)


def _rows(
    one: ConnectorDifference, passwords: Collection[str], positions: Sequence[OffsetDifference], all_offsets: bool
) -> Iterator[tuple[str, ...]]:
    if one.kind != comparison.DIFFERS:
        yield one.name, one.kind, "", "", ""
    for change in one.changes:
        values = (masked(change.key, value, passwords) for value in (change.before, change.after))
        yield one.name, one.kind, change.key, *("(not set)" if value is None else value for value in values)
    for position in positions:
        if all_offsets or position.differs:
            partition, *texts = position.texts
            yield one.name, f"offset {position.kind}", partition, *texts


def _json(one: ConnectorDifference, passwords: Collection[str], positions: Sequence[OffsetDifference] | None) -> Json:
    found = one.as_json(passwords)
    return found if positions is None else {**found, "offsets": [position.as_json() for position in positions]}

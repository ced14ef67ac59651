"""The verbs for deleted connectors: listing them, and undoing a deletion with config, state and offsets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tui.client import versions
from tui.commands.arguments import choice, flag, option, options, positional
from tui.commands.base import ChangingCommand, Command, Danger, refuse
from tui.commands.connectors.validating import validate
from tui.commands.context import CommandCluster, CommandContext
from tui.commands.result import Result, Table, TargetOutcome
from tui.commands.settling import Goal, settle_option, settled
from tui.commands.targets import for_each, require_confirmation
from tui.config import creating, history
from tui.config.history import ConfigEntry
from tui.config.secrets import is_masked
from tui.errors import Conflict, HeadraceError
from tui.formatting import counted, utc_time
from tui.model import Offset
from tui.offsets import undo
from tui.offsets.changes import changes
from tui.offsets.operation import carry_out
from tui.offsets.plan import OffsetPlan

Json = Any
STATES = ("RUNNING", "PAUSED", "STOPPED")


class GetDeleted(Command):
    """List deleted connectors that `undo delete` can restore, the latest first."""

    verb = "get deleted connectors"

    async def run(self, context: CommandContext) -> Result:
        deleted = await history.deleted(context.cluster.connect, context.cluster.config_history)
        rows = tuple((entry["name"], utc_time(entry["time"]), entry["who"], entry["why"]) for entry in deleted)
        return Result(
            deleted, Table(("NAME", "DELETED", "USER", "REASON"), rows), names=tuple(entry["name"] for entry in deleted)
        )


class UndoDelete(ChangingCommand):
    """Recreate a deleted connector: its last config, its state, and its offsets if they were deleted with it.

    This machine's history, used where the worker keeps none, hides secrets: give them with -s.
    """

    verb = "undo delete"
    danger = Danger.ASK

    name = positional("NAME", "a connector, as listed by `get deleted`")
    sets = options("-s", "--set", metavar="KEY=VALUE", help="a value to set, for example a secret; can be repeated")
    removes = options("-r", "--remove", metavar="KEY", help="a key to leave out; can be repeated")
    state = option(
        "--state",
        metavar="|".join(STATES),
        help="the state, by default that before the deletion",
        convert=choice(*STATES),
    )
    settle = settle_option()
    without_offsets = flag("--without-offsets", help="do not restore offsets that were deleted")

    def check(self) -> None:
        for pair in self.sets:
            refuse(pair.find("=") < 1, f"-s {pair}: expected KEY=VALUE")

    async def run(self, context: CommandContext) -> Result:
        goals: dict[str, Goal] = {}
        result = await for_each([self.name], lambda name: self._restore(context, name, goals))
        return await settled(context, result, goals, self.settle)

    async def _restore(self, context: CommandContext, name: str, goals: dict[str, Goal]) -> TargetOutcome:
        """Recreates the connector, and adds its state to the goals."""
        if name in await context.cluster.connect.names():
            raise Conflict(f"a connector {name} already exists", 409)
        deletion = await history.history(context.cluster.connect, context.cluster.config_history, name)
        entry = history.deletion(deletion, name)
        config = self._config(entry)
        offsets = () if self.without_offsets else await deleted_offsets(context.cluster, name, deletion.entries)
        if offsets and not deletion.by_worker:
            await context.cluster.connect.require(versions.ALTER_OFFSETS)
        state = self.state or initial_state(entry.state)
        created = state if not offsets or deletion.by_worker else "STOPPED"
        new = await creating.new_state(context.cluster.connect, created)
        if created == state:
            state = new.state
        what = f"as {state}, with its config of {entry.at}" + (
            f" and {counted(len(offsets), 'offset')}" if offsets else ""
        )
        await validate(context.cluster, config, name)
        if self.dry_run:
            return TargetOutcome(name, f"would be recreated {what}")
        require_confirmation(context.terminal, self.yes, f"recreate {what}:", [name])
        goals[name] = Goal(state)
        body: dict[str, Json] = {"name": name, "config": config}
        if offsets and deletion.by_worker:
            body["initial_offsets"] = [entry.entry() for entry in offsets]
        if not new.is_initial:
            context.terminal.report(f"{name}: created {new}")
        await creating.create(context.cluster.connect, body, new)
        if created != state or (offsets and not deletion.by_worker):
            await self._alter(context, name, offsets, state)
        return TargetOutcome(name, f"recreated {what}")

    def _config(self, entry: ConfigEntry) -> dict[str, str]:
        restoration = history.as_before(entry, {})
        given = {key: value for key, _, value in (pair.partition("=") for pair in self.sets)}
        if masks := [key for key, value in given.items() if is_masked(value)]:
            raise HeadraceError(f"{', '.join(masks)}: this is a mask, not a value", f"set it with -s {masks[0]}=…")
        if missing := [key for key in restoration.missing if key not in given and key not in self.removes]:
            example = " ".join(f"-s {key}=…" for key in missing)
            raise HeadraceError(
                f"the history on this machine hides the value of {', '.join(missing)}", f"set it with {example}"
            )
        return {key: value for key, value in {**restoration.config, **given}.items() if key not in self.removes}

    async def _alter(self, context: CommandContext, name: str, offsets: tuple[Offset, ...], state: str) -> None:
        """Sets the offsets of the connector, which was created STOPPED, then its state."""
        plan = OffsetPlan(name, None, tuple(changes((), offsets)), "STOPPED", why="undo of its deletion")
        try:
            done = await carry_out(
                plan, context.cluster.connect, context.cluster.change_store, context.terminal.report, context.clock
            )
        except HeadraceError as error:
            error.message = f"created STOPPED, but its offsets were not restored: {error.message}"
            raise
        if done.trouble or done.differing:
            problem = f"after reading back, {len(done.differing)} of {len(offsets)} offsets differ"
            raise HeadraceError(f"created STOPPED, but {done.trouble or problem}")
        if state != "STOPPED":
            await (context.cluster.connect.pause if state == "PAUSED" else context.cluster.connect.resume)(name)


def initial_state(state: str) -> str:
    """The initial state for a state or a target state before the deletion."""
    return state if state in STATES else "RUNNING"


async def deleted_offsets(cluster: CommandCluster, name: str, configs: Sequence[ConfigEntry]) -> tuple[Offset, ...]:
    """The offsets that were deleted with the connector: the newest change of its offsets, if it is a deletion, and
    not that of an earlier connector of this name. `configs` is the history of its config."""
    history = await undo.history(cluster.connect, cluster.change_store, name)
    newest = history.entries[0] if history.entries else None
    if newest is None or newest.action != "delete":
        return ()
    return newest.before if newest.time >= max((entry.time for entry in configs[1:]), default=0) else ()

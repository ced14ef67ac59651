"""The verbs for past changes of configs: history, undo, rollback."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tui.commands.arguments import integer, option, positional
from tui.commands.base import ChangingCommand, Command, Danger, refuse
from tui.commands.connectors.validating import validate
from tui.commands.context import CommandContext
from tui.commands.result import Result, Table, TargetOutcome
from tui.commands.targets import for_each, require_confirmation
from tui.config import applying, history
from tui.config.applying import ConfigEdit
from tui.config.changes import changes, diff_lines
from tui.config.history import ConfigEntry, ConfigHistory, Restoration
from tui.config.secrets import shown
from tui.errors import HeadraceError

Json = Any


class GetConfigHistory(Command):
    """List the changes of a connector's config, newest first, also of a deleted connector."""

    verb = "get config history"

    name = positional("NAME", "a connector, even if it has been deleted")

    async def run(self, context: CommandContext) -> Result:
        config_history = await history.history(context.cluster.connect, context.cluster.config_history, self.name)
        if not config_history.entries:
            await context.cluster.connect.config(self.name)  # raises NotFound for a name that is unknown
        rows = tuple(
            (e.number, e.at, e.action, e.who, e.why, history.summary(e.changes)) for e in config_history.entries
        )
        columns = ("NUMBER", "TIME", "ACTION", "USER", "REASON", "CHANGES")
        numbers = tuple(str(entry.number) for entry in config_history.entries)
        passwords = await context.cluster.password_keys.of(*config_history.configs)
        raw = [_hidden(entry, passwords) for entry in config_history.raw]
        return Result({"history": raw}, Table(columns, rows), names=numbers)


def _hidden(entry: Json, passwords: Collection[str]) -> Json:
    """The entry with secrets masked."""
    configs = {key: entry[key] and shown(entry[key], passwords) for key in ("before", "after")}
    return {**entry, **configs}


class _ConfigBack(ChangingCommand):
    """Restores keys of an earlier config."""

    danger = Danger.ASK

    name = positional("NAME", "a connector")

    def chosen(self, history: ConfigHistory) -> ConfigEntry:
        raise NotImplementedError

    def wanted(self, entry: ConfigEntry, now: dict[str, str]) -> Restoration:
        raise NotImplementedError

    async def run(self, context: CommandContext) -> Result:
        return await for_each([self.name], lambda name: self._restore(context, name))

    async def _restore(self, context: CommandContext, name: str) -> TargetOutcome:
        now = await context.cluster.connect.config(name)
        entry = self.chosen(await history.history(context.cluster.connect, context.cluster.config_history, name))
        restoration = self.wanted(entry, now)
        if restoration.missing:
            keys = ", ".join(restoration.missing)
            raise HeadraceError(
                f"the history on this machine hides the value of {keys}", "set it with `patch connector`"
            )
        differences = changes(now, restoration.config)
        kept = (
            f" (not restored: {', '.join(restoration.kept)}, whose values the history hides)"
            if restoration.kept
            else ""
        )
        if not differences:
            return TargetOutcome(name, f"nothing to change{kept}")
        lines = diff_lines(differences, await context.cluster.password_keys.of(now, restoration.config))
        text = "; ".join(lines) + kept
        if self.dry_run:
            await validate(context.cluster, restoration.config, name)
            return TargetOutcome(name, f"would be restored to before {entry}: {text}")
        for line in lines:
            context.terminal.report(line)
        require_confirmation(context.terminal, self.yes, self.verb, [name])
        await applying.apply(ConfigEdit(name, now, differences), context.cluster.connect)
        return TargetOutcome(name, f"changed: {text}")


class UndoConfig(_ConfigBack):
    """Undo the last change of a connector's config: its keys only. A second undo restores the change."""

    verb = "undo config"

    def chosen(self, config_history: ConfigHistory) -> ConfigEntry:
        return history.last_change(config_history, self.name)

    def wanted(self, entry: ConfigEntry, now: dict[str, str]) -> Restoration:
        return history.undone(entry, now)


class RollbackConfig(_ConfigBack):
    """Restore the whole config of a connector as before a change; see `get config history` for its number."""

    verb = "rollback config"

    to = option("--to", metavar="N", help="the number of the change", convert=integer)

    def check(self) -> None:
        refuse(self.to is None, "--to N is required: the number of the change to roll back")

    def chosen(self, config_history: ConfigHistory) -> ConfigEntry:
        return history.numbered(config_history, self.name, self.to or 0)

    def wanted(self, entry: ConfigEntry, now: dict[str, str]) -> Restoration:
        return history.as_before(entry, now)

"""`patch connector`: sets and removes single keys of a config."""

from __future__ import annotations

from tui.commands.arguments import options, positionals, regex_flag
from tui.commands.base import ChangingCommand, Danger, refuse
from tui.commands.connectors.validating import validate
from tui.commands.context import CommandCluster, CommandContext
from tui.commands.result import Result, TargetOutcome
from tui.commands.settling import STARTED, Goal, settle_option, settled
from tui.commands.targets import change_each, require_confirmation, select_names, selector
from tui.config import applying
from tui.config.applying import ConfigEdit
from tui.config.changes import ConfigChange, changes, diff_lines, merged
from tui.config.secrets import contains_mask, is_masked
from tui.errors import BadRequest, HeadraceError


class PatchConnector(ChangingCommand):
    """Set or remove keys of connectors' configs. Other keys are not changed."""

    verb = "patch connector"
    danger, selects = Danger.ASK, True

    names = positionals("NAME", "connectors; globs are allowed")
    regex = regex_flag()
    sets = options("-s", "--set", metavar="KEY=VALUE", help="set a key; can be repeated")
    removes = options("-r", "--remove", metavar="KEY", help="remove a key; can be repeated")
    settle = settle_option()

    def check(self) -> None:
        refuse(not self.sets and not self.removes, "-s KEY=VALUE or -r KEY is required")
        for pair in self.sets:
            refuse(pair.find("=") < 1, f"-s {pair}: expected KEY=VALUE")
            key, _, value = pair.partition("=")
            refuse(is_masked(value), f"-s {pair}: this is a mask, not a value")
            refuse(contains_mask(value), f"-s {key}: the value contains a mask; give the whole value")
        both = {pair.partition("=")[0] for pair in self.sets} & set(self.removes)
        refuse(bool(both), f"{', '.join(sorted(both))} is both set and removed")
        selector(self.names, self.regex)

    async def run(self, context: CommandContext) -> Result:
        names = await select_names(context.cluster.connect, self.names, self.regex)
        if not self.dry_run and len(names) > len(self.names):
            require_confirmation(context.terminal, self.yes, "patch", names)
        result = await change_each(names, lambda name: self._patch(context.cluster, name))
        changed = [outcome.name for outcome in result.outcomes if outcome.raw]
        return await settled(context, result, dict.fromkeys(changed, Goal(STARTED)), self.settle)

    async def _patch(self, cluster: CommandCluster, name: str) -> TargetOutcome:
        before = await cluster.connect.config(name)
        changes = self._changes(before)
        if not changes:
            return TargetOutcome(name, "unchanged")
        lines = "; ".join(diff_lines(changes, await cluster.password_keys.of(before, merged(before, changes))))
        if self.dry_run:
            await self._check_config(cluster, name, merged(before, changes))
            return TargetOutcome(name, f"would be changed: {lines}")
        done = await applying.apply(ConfigEdit(name, before, changes), cluster.connect)
        if done.differing:
            keys = ", ".join(change.key for change in done.differing)
            raise HeadraceError(f"accepted, but after reading back {keys} differs from the request")
        text = lines + (f" (could not read back: {done.trouble})" if done.trouble else "")
        return TargetOutcome(name, f"changed: {text}", raw={"name": name, "config": dict(done.after)})

    async def _check_config(self, cluster: CommandCluster, name: str, config: dict[str, str]) -> None:
        """Raises the error that the real change would raise."""
        if config.get("name", name) != name:
            raise BadRequest(f"name={config['name']}: the name of a connector cannot be changed", 400)
        await validate(cluster, config, name)

    def _changes(self, before: dict[str, str]) -> tuple[ConfigChange, ...]:
        wanted = {key: value for key, value in before.items() if key not in self.removes}
        wanted |= {key: value for key, _, value in (pair.partition("=") for pair in self.sets)}
        return changes(before, wanted)

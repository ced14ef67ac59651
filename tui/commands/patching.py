"""patch connector: single keys of a config, the rest as it is."""

from __future__ import annotations

from tui.commands.arguments import by_regex, options, words
from tui.commands.base import ChangingCommand, CommandContext, Danger, refuse
from tui.commands.result import Result, TargetOutcome
from tui.commands.targets import chosen, compiled, each, must_confirm
from tui.commands.validating import validate
from tui.config import applying
from tui.config.applying import Edit
from tui.config.changes import Change as KeyChange
from tui.config.changes import changes, diff_lines, merged
from tui.config.secrets import holds_mask, is_masked
from tui.errors import BadRequest, HeadraceError


class PatchConnector(ChangingCommand):
    """Set or remove keys of connectors' configs; only those are sent, all others stay as they are."""

    verb = "patch connector"
    danger = Danger.ASK

    names = words("NAME", "connectors; globs are fine")
    regex = by_regex()
    sets = options("-s", "--set", metavar="KEY=VALUE", help="may be given several times")
    removes = options("-r", "--remove", metavar="KEY", help="may be given several times")

    def check(self) -> None:
        refuse(not self.sets and not self.removes, "needs -s KEY=VALUE or -r KEY")
        for pair in self.sets:
            refuse(pair.find("=") < 1, f"-s {pair}: it looks like KEY=VALUE")
            key, _, value = pair.partition("=")
            refuse(is_masked(value), f"-s {pair}: that is a mask, not a value")
            refuse(holds_mask(value), f"-s {key}: a mask is still in the value; give all of it")
        both = {pair.partition("=")[0] for pair in self.sets} & set(self.removes)
        refuse(bool(both), f"{', '.join(sorted(both))} is set and removed at once")
        for pattern in self.names if self.regex else ():
            compiled(pattern)

    async def run(self, context: CommandContext) -> Result:
        names = await chosen(context.connect, self.names, self.regex)
        if not self.dry_run and len(names) > len(self.names):
            must_confirm(context, self.yes, "patch", names)
        return await each(names, lambda name: self._patch(context, name))

    async def _patch(self, context: CommandContext, name: str) -> TargetOutcome:
        before = await context.connect.config(name)
        made = self._changes(before)
        if not made:
            return TargetOutcome(name, "unchanged")
        if self.dry_run:
            await self._judge(context, name, merged(before, made))
            return TargetOutcome(name, f"would be changed: {'; '.join(diff_lines(made))}")
        done = await applying.apply(Edit(name, before, made), context.connect)
        if done.differing:
            keys = ", ".join(change.key for change in done.differing)
            raise HeadraceError(f"accepted, but read back {keys} is not what was sent")
        text = "; ".join(diff_lines(made)) + (f" (not read back: {done.trouble})" if done.trouble else "")
        return TargetOutcome(name, f"changed: {text}", raw={"name": name, "config": dict(done.after)})

    async def _judge(self, context: CommandContext, name: str, config: dict[str, str]) -> None:
        """Fails as the change would for real."""
        if config.get("name", name) != name:
            raise BadRequest(f"name={config['name']}: the name of a connector cannot be changed", 400)
        await validate(context, config, name)

    def _changes(self, before: dict[str, str]) -> tuple[KeyChange, ...]:
        wanted = {key: value for key, value in before.items() if key not in self.removes}
        wanted |= {key: value for key, _, value in (pair.partition("=") for pair in self.sets)}
        return changes(before, wanted)

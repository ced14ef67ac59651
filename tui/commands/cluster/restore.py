"""`restore`: creates the connectors of a backup with their offsets, here or on another cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tui import model
from tui.backup import document, plan
from tui.backup.document import SavedConnector
from tui.backup.mapping import RestoreMapping, name_rules, settings
from tui.backup.plan import RestoreAction, RestoreOptions, RestoreStep, masks, overview
from tui.backup.restoring import ConnectorRestore
from tui.client import versions
from tui.commands.arguments import flag, options, positional, positionals, regex_flag
from tui.commands.base import ChangingCommand, Danger, refuse
from tui.commands.connectors.validating import validate
from tui.commands.context import CommandCluster, CommandContext, CommandFiles
from tui.commands.result import Result, TargetOutcome, confirmation
from tui.commands.settling import Goal, settle_option, settled
from tui.commands.targets import change_each, for_each, require_confirmation, selector
from tui.config.creating import new_state
from tui.errors import BadRequest, HeadraceError, Unsupported
from tui.model import Connector


class RestorePlan(NamedTuple):
    """The steps by connector, and the connectors that cannot be restored."""

    steps: Mapping[str, RestoreStep]
    invalid: tuple[TargetOutcome, ...]


class Restore(ChangingCommand):
    """Create the connectors of a backup: STOPPED, then with their offsets, then in their states.

    Shows the plan and asks before anything is written. Connectors that exist and differ are skipped. Run again after a
    failure, it continues. With --dry-run it ends with exit code 8 if there is something to do."""

    verb = "restore"
    danger = Danger.ASK

    file = positional("FILE|-", "a file of `backup`")
    names = positionals("NAME", "only these connectors of the backup; globs are allowed", at_least=0)
    regex = regex_flag()
    overwrite = flag("--overwrite", help="replace config, offsets and state of connectors that exist")
    no_offsets = flag("--no-offsets", help="configs and states only")
    stopped = flag("--stopped", help="leave all connectors STOPPED")
    partial = flag("--partial", help="restore the valid connectors if others are invalid")
    rename = options("--rename", metavar="OLD=NEW", help="name of a connector; 'a-*=b-*' for several; can be repeated")
    topic = options("--topic", metavar="OLD=NEW", help="topic in configs and offsets of sinks, as --rename")
    settle = settle_option()
    setting = options("--set", metavar="KEY=VALUE", help="key in the configs of all connectors; can be repeated")

    def check(self) -> None:
        self._mapping()

    def _mapping(self) -> RestoreMapping:
        return RestoreMapping(
            name_rules("--rename", self.rename), name_rules("--topic", self.topic), settings("--set", self.setting)
        )

    async def run(self, context: CommandContext) -> Result:
        if context.plan is not None:
            return await self._carry_out(context, context.plan)
        wanted = self._wanted(context.files)
        options, remarks = await self._options(context.cluster, wanted)
        connectors = model.connectors(await context.cluster.connect.expanded())
        steps: dict[str, RestoreStep] = {}

        async def look(name: str) -> TargetOutcome:
            steps[name] = await self._step(context.cluster, wanted[name], connectors, options)
            return TargetOutcome(name, steps[name].summary)

        looked = await for_each(wanted, look)
        invalid = tuple(outcome for outcome in looked.outcomes if outcome.failed)
        lines = [*remarks, *(line for step in steps.values() for line in step.lines())]
        lines += [f"! {outcome.name}: {outcome.message}" for outcome in invalid]
        lines.append(overview(list(steps.values())) + (f", {len(invalid)} invalid" if invalid else ""))
        pending = [name for name, step in steps.items() if step.pending]
        if self.dry_run:
            return Result(
                [step.as_json() for step in steps.values()],
                text="\n".join(lines),
                names=tuple(pending),
                outcomes=looked.outcomes,
                pending=bool(pending),
                plan=RestorePlan(steps, invalid),
            )
        for line in lines:
            context.terminal.report(line)
        if pending and (self.partial or not invalid):
            require_confirmation(context.terminal, self.yes, "restore", pending)
        return await self._carry_out(context, RestorePlan(steps, invalid))

    def _wanted(self, files: CommandFiles) -> Mapping[str, SavedConnector]:
        """The chosen connectors of the backup under their new names."""
        where = "standard input" if self.file == "-" else self.file
        backup = document.parse(files.read(self.file), where)
        is_chosen = selector(self.names or ("*",), self.regex and bool(self.names))
        chosen = [connector for name, connector in backup.connectors.items() if is_chosen(name)]
        for pattern in self.names:
            refuse(
                not any(map(selector([pattern], self.regex), backup.connectors)),
                f"{where} has no connector {pattern}; it has {', '.join(sorted(backup.connectors)) or 'none'}",
            )
        mapping = self._mapping()
        return document.by_name(mapping.applied(connector) for connector in chosen)

    async def _options(
        self, cluster: CommandCluster, wanted: Mapping[str, SavedConnector]
    ) -> tuple[RestoreOptions, list[str]]:
        """What this version of Connect can restore, with a remark for each difference. Raises Unsupported."""
        offsets, connect = not self.no_offsets, cluster.connect
        if offsets and (reason := await connect.missing(versions.ALTER_OFFSETS)):
            if any(saved.offsets for saved in wanted.values()):
                raise Unsupported(reason, "--no-offsets restores configs and states")
            offsets = False
        new = await new_state(connect, "STOPPED")
        if self.stopped and new.state != "STOPPED":
            raise Unsupported(new.remark, "restore without --stopped")
        remarks = [] if new.is_initial else [f"! new connectors are created {new}"]
        return RestoreOptions(self.overwrite, offsets, self.stopped, new.state), remarks

    async def _step(
        self,
        cluster: CommandCluster,
        saved: SavedConnector,
        connectors: Mapping[str, Connector],
        options: RestoreOptions,
    ) -> RestoreStep:
        """The step for a connector; the worker validates configs that are to be written."""
        now = None
        if saved.name in connectors:
            offsets = model.offsets(await cluster.connect.offsets(saved.name)) if options.offsets else ()
            now = document.saved(connectors[saved.name], offsets)
        step = plan.step(saved, now, options)
        if step.pending and step.config:
            if hidden := masks(step.written):
                raise BadRequest(f"{', '.join(hidden)} is a mask, not a value", 400, f"--set {hidden[0]}=VALUE")
            await validate(cluster, step.written, saved.name)
        if now is not None and step.config:
            step = step._replace(passwords=await cluster.password_keys.of(now.config, step.written))
        return step

    async def _carry_out(self, context: CommandContext, plan: RestorePlan) -> Result:
        """Continues after a connector that fails."""
        steps, invalid = plan
        if invalid and not self.partial:
            raise HeadraceError(
                f"nothing was restored, since {', '.join(outcome.name for outcome in invalid)} cannot be",
                "--partial restores the others",
            )

        async def act(name: str) -> TargetOutcome:
            step = steps[name]
            restore = ConnectorRestore(
                step,
                context.cluster.connect,
                context.cluster.change_store,
                lambda text: context.terminal.report(f"{name}: {text}"),
                context.clock,
                f"restored from {self.file}",
            )
            if step.action is not RestoreAction.SKIP:
                restore.forget_interrupted()
            return TargetOutcome(name, await restore.run() if step.pending else step.summary)

        done = await change_each(steps, act)
        goals = {name: Goal(step.state) for name, step in steps.items() if step.pending}
        done = await settled(context, done, goals, self.settle)
        return confirmation([*done.outcomes, *invalid])

"""`apply`: creates, updates and deletes connectors so that the cluster matches a set of files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tui.client.client import Connect
from tui.commands.arguments import flag, option, options
from tui.commands.base import ChangingCommand, Danger, refuse
from tui.commands.connectors.documents import INITIAL, ConnectorDocument, documents, files_of
from tui.commands.connectors.plan import CREATE, DELETE, KEEP, PlanStep, removal, step, text_of
from tui.commands.connectors.validating import validate
from tui.commands.context import CommandCluster, CommandContext, CommandFiles
from tui.commands.result import Result, TargetOutcome, confirmation
from tui.commands.settling import STARTED, Goal, settle_option, settled
from tui.commands.targets import change_each, failed_outcome, for_each, noted_on_interrupt, require_confirmation
from tui.config import applying, creating
from tui.config.applying import ChangedMeanwhile, ConfigEdit
from tui.config.changes import changes, merged
from tui.config.new_connector import offsets_message
from tui.errors import Conflict, HeadraceError, NotFound, Refused


class ApplyPlan(NamedTuple):
    """What `apply` carries out: the outcomes of planning, the steps of the files' connectors by name, the deletions,
    and a failure for each connector whose config cannot be read."""

    planned: Result
    steps: Mapping[str, PlanStep]
    removals: Sequence[PlanStep]
    unread: Sequence[TargetOutcome]


class Apply(ChangingCommand):
    """Create or update connectors from files: JSON as for POST /connectors, a flat JSON config, or .properties.

    With --dry-run, prints the changes as a diff and ends with exit code 8 if there are any.
    """

    verb = "apply"
    danger, has_plan = Danger.ASK, True

    files = options("-f", "--file", metavar="FILE|DIR|-", help="file or folder; can be repeated")
    name = option("-n", "--name", metavar="NAME", help="the connector's name, if the file has none", convert=str)
    prune = flag("--prune", help="delete connectors that are in none of the files")
    settle = settle_option()

    def check(self) -> None:
        refuse(not self.files, "-f FILE is required")
        refuse(self.files.count("-") > 1, "standard input can be read only once")

    async def run(self, context: CommandContext) -> Result:
        if context.plan is not None:
            return await self._carry_out(context, context.plan)
        wanted = self._wanted(context.files)
        steps: dict[str, PlanStep] = {}

        async def look(name: str) -> TargetOutcome:
            steps[name] = await self._step(context.cluster, wanted[name])
            return TargetOutcome(name, _would(steps[name]))

        planned = await for_each(wanted, look)
        removals, unread = await self._removals(context.cluster, wanted) if self.prune else ([], [])
        plan = ApplyPlan(planned, steps, removals, unread)
        return _shown(plan) if self.dry_run else await self._carry_out(context, plan)

    def _wanted(self, files: CommandFiles) -> dict[str, ConnectorDocument]:
        every = [document for path in self.files for file in files_of(path) for document in self._read(files, file)]
        by_name = {document.name: document for document in every}
        refuse(len(by_name) < len(every), "two files describe the same connector")
        return by_name

    def _read(self, files: CommandFiles, file: str) -> list[ConnectorDocument]:
        return documents(files.read(file), "standard input" if file == "-" else file, self.name or "")

    async def _step(self, cluster: CommandCluster, document: ConnectorDocument) -> PlanStep:
        """The step for one connector; in a dry run the worker also validates the config."""
        planned = step(document, await _current(cluster, document.name))
        if self.dry_run and planned.pending:
            config = merged(planned.before or {}, planned.changes)
            await validate(cluster, config, document.where)
            return planned._replace(passwords=await cluster.password_keys.of(planned.before, config))
        return planned

    async def _removals(
        self, cluster: CommandCluster, wanted: Collection[str]
    ) -> tuple[list[PlanStep], list[TargetOutcome]]:
        """Deletions, and a failure for each config that cannot be read (some workers refuse a / in a name)."""
        steps: list[PlanStep] = []

        async def look(name: str) -> TargetOutcome:
            try:
                before = await _current(cluster, name) or {}
                secret = await cluster.password_keys.of(before) if self.dry_run else frozenset[str]()
                steps.append(removal(name, before)._replace(passwords=secret))
            except Refused as error:
                return failed_outcome(name, _not_read(error))
            return TargetOutcome(name, _would(steps[-1]))

        looked = await for_each(sorted(set(await cluster.connect.names()) - set(wanted)), look)
        return steps, [outcome for outcome in looked.outcomes if outcome.failed]

    async def _carry_out(self, context: CommandContext, plan: ApplyPlan) -> Result:
        done = await self._change(context, plan)
        goals = {name: goal for name, step in plan.steps.items() if (goal := _goal(step)) is not None}
        done = await settled(context, done, goals, self.settle)
        return confirmation([*done.outcomes, *plan.unread]) if plan.unread else done

    async def _change(self, context: CommandContext, plan: ApplyPlan) -> Result:
        """Creates and updates first; connectors are deleted only if nothing has failed."""
        planned, doomed = plan.planned, {step.name: step for step in plan.removals}
        if doomed:
            require_confirmation(context.terminal, self.yes, "delete", list(doomed))
        failed = {outcome.name: outcome for outcome in planned.outcomes if outcome.failed}

        async def act(name: str) -> TargetOutcome:
            if name in failed:
                return failed[name]
            if name in doomed:
                return await _delete(context.cluster, doomed[name], bool(failed))
            return await _apply(context, plan.steps[name])

        first = await change_each([outcome.name for outcome in planned.outcomes], act)
        if not doomed:
            return first
        failed |= {outcome.name: outcome for outcome in first.outcomes if outcome.failed}
        with noted_on_interrupt(first.outcomes):
            second = await change_each(doomed, act)
        return confirmation([*first.outcomes, *second.outcomes])


async def _delete(cluster: CommandCluster, step: PlanStep, something_failed: bool) -> TargetOutcome:
    if something_failed:
        raise HeadraceError("not deleted, because another change failed")
    now = await _current(cluster, step.name)
    if now is not None and (theirs := changes(step.before or {}, now)):
        raise ChangedMeanwhile(theirs, now)
    await cluster.connect.delete(step.name)
    return TargetOutcome(step.name, "deleted")


async def _apply(context: CommandContext, step: PlanStep) -> TargetOutcome:
    document = step.document
    assert document is not None
    if step.action == CREATE:
        if await _current(context.cluster, step.name) is not None:
            raise Conflict("created by someone else meanwhile", 409, "check the difference, then apply again")
        if document.initial_state or document.initial_offsets:
            return await _create(context.cluster.connect, document)
        return TargetOutcome(
            step.name, "created", raw=await context.cluster.connect.configure(step.name, document.config)
        )
    if ignored := [key for key in INITIAL if getattr(document, key)]:
        context.terminal.report(f"{step.name} already exists: ignoring its {' and '.join(ignored)}")
    if step.action == KEEP:
        return TargetOutcome(step.name, "unchanged")
    done = await applying.apply(ConfigEdit(step.name, step.before or {}, step.changes), context.cluster.connect)
    return TargetOutcome(step.name, "updated", raw={"name": step.name, "config": dict(done.after)})


async def _create(connect: Connect, document: ConnectorDocument) -> TargetOutcome:
    body = {"name": document.name, "config": document.config}
    if document.initial_offsets:
        body["initial_offsets"] = list(document.initial_offsets)
    new = await creating.new_state(connect, document.initial_state.upper() or "RUNNING")
    raw = await creating.create(connect, body, new)
    outcome = "created" if new.is_initial else f"created {new}"
    message = offsets_message(raw)
    return TargetOutcome(document.name, f"{outcome}: {message}" if message else outcome, raw=raw)


def _goal(step: PlanStep) -> Goal | None:
    """The state to which a step leads; None if it changes nothing."""
    if step.action == CREATE and step.document is not None:
        return Goal(STARTED if step.document.initial_state else "RUNNING")
    return Goal(STARTED) if step.pending else None


def _would(step: PlanStep) -> str:
    if step.action == KEEP:
        return KEEP
    keys = "" if step.action in (CREATE, DELETE) else f": {', '.join(change.key for change in step.changes)}"
    return f"would be {step.action.removesuffix('e')}ed{keys}"


def _not_read(error: Refused) -> Refused:
    return type(error)(f"not deleted, because its config cannot be read: {error.message}", error.status, error.advice)


def _shown(plan: ApplyPlan) -> Result:
    """The result of a dry run: the diff as text, the steps as JSON, failures among the outcomes."""
    steps, unread = [*plan.steps.values(), *plan.removals], plan.unread
    outcomes = [
        *plan.planned.outcomes,
        *(TargetOutcome(step.name, _would(step)) for step in plan.removals),
        *unread,
    ]
    return Result(
        [step.as_json() for step in steps],
        text=text_of(steps) + (f", {len(unread)} unreadable" if unread else ""),
        names=tuple(step.name for step in steps if step.pending),
        outcomes=tuple(outcomes),
        pending=any(step.pending for step in steps),
        plan=plan,
    )


async def _current(cluster: CommandCluster, name: str) -> dict[str, str] | None:
    try:
        return await cluster.connect.config(name)
    except NotFound:
        return None

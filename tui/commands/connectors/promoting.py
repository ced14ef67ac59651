"""`promote`: creates or updates connectors of this context in another one, with mapped values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tui.client.client import Connect
from tui.client.password_keys import PasswordKeys
from tui.commands.arguments import choice, flag, option, options, positionals, regex_flag
from tui.commands.base import Command, Danger, refuse
from tui.commands.connectors.plan import CREATE, PlanStep, text_of
from tui.commands.connectors.promotion_steps import STATES, planned_step, take_step, would
from tui.commands.context import CommandCluster, CommandContext
from tui.commands.result import Result, TargetOutcome
from tui.commands.settling import STARTED, Goal, settle_option, settled
from tui.commands.targets import change_each, failed_outcome, for_each, require_confirmation, select_names
from tui.config import promotion
from tui.config.creating import NewState, new_state
from tui.config.promotion import PromotionMapping
from tui.contexts import policy
from tui.errors import HeadraceError


class PromotionPlan(NamedTuple):
    """What `promote` carries out: the outcomes of planning, the steps by the name of the connector here, and the state
    of new connectors."""

    planned: Result
    steps: Mapping[str, PlanStep]
    state: NewState


class Promote(Command):
    """Create or update connectors of this context in another one. New connectors are created STOPPED.

    Names and values are mapped by [promote.CONTEXT] of config.toml, then by -s and -r. The other cluster validates all
    configs before anything is changed; with --dry-run, prints the plan and ends with exit code 8 if there are changes.
    """

    verb = "promote connector"
    danger, has_plan = Danger.ASK, True

    names = positionals("NAME", "connectors of this context; globs are allowed")
    regex = regex_flag()
    to = option("--to", "-w", "--with", metavar="CONTEXT", help="the context of the other cluster", convert=str)
    other_name = option("--as", metavar="NAME", help="the name there, for a single connector", convert=str)
    sets = options("-s", "--set", metavar="KEY=VALUE", help="set a key there; can be repeated")
    removes = options("-r", "--remove", metavar="KEY", help="remove a key there; can be repeated")
    state = option(
        "--state",
        metavar="|".join(STATES),
        help="the state of new connectors, by default STOPPED",
        convert=choice(*STATES),
    )
    settle = settle_option()
    dry_run = flag("--dry-run", help="show what would be done, without doing it")
    yes = flag("-y", "--yes", help="do not ask for confirmation")

    def check(self) -> None:
        refuse(self.to is None, "--to CONTEXT is required: the context of the other cluster")
        refuse(self.other_name is not None and len(self.names) != 1, "--as needs exactly one NAME")
        for pair in self.sets:
            refuse(pair.find("=") < 1, f"-s {pair}: expected KEY=VALUE")

    async def run(self, context: CommandContext) -> Result:
        target = self.to or ""
        refuse(target == context.cluster.profile.name, f"{target} is the current context: choose another one")
        if not self.dry_run:
            policy.permit(context.cluster.other_profile(target), self.verb)
        async with context.cluster.other(target) as other:
            plan = context.plan or await self._plan(context.cluster, target, other)
            if self.dry_run or any(outcome.failed for outcome in plan.planned.outcomes):
                return self._shown(plan)
            return await self._carry_out(context, target, other, plan)

    async def _plan(self, cluster: CommandCluster, target: str, other: Connect) -> PromotionPlan:
        names = await select_names(cluster.connect, self.names, self.regex)
        refuse(
            self.other_name is not None and len(names) > 1, f"--as needs exactly one connector, not {', '.join(names)}"
        )
        mapping = self._mapping(cluster, target)
        self._check_names(names, mapping)
        steps: dict[str, PlanStep] = {}
        keys = PasswordKeys(other.plugin_config)
        state = await new_state(other, self.state or STATES[0])

        async def look(name: str) -> TargetOutcome:
            config = mapping.config(await cluster.connect.config(name), self.other_name or mapping.name(name))
            steps[name] = await planned_step(other, target, name, config, keys)
            return TargetOutcome(steps[name].name, would(steps[name], state))

        return PromotionPlan(await for_each(names, look), steps, state)

    async def _carry_out(self, context: CommandContext, target: str, other: Connect, plan: PromotionPlan) -> Result:
        steps, state = plan.steps, plan.state
        context.terminal.report(text_of(list(steps.values())))
        pending = [step.name for step in steps.values() if step.pending]
        if pending:
            require_confirmation(context.terminal, self.yes, f"promote to {target}:", pending)

        async def act(name: str) -> TargetOutcome:
            return await take_step(other, target, steps[name], state)

        result = await change_each(steps, act)
        goals = {
            step.name: Goal(state.state if step.action == CREATE else STARTED)
            for step in steps.values()
            if step.pending
        }
        return await settled(context, result, goals, self.settle, other)

    def _mapping(self, cluster: CommandCluster, target: str) -> PromotionMapping:
        sets = {key: value for key, _, value in (pair.partition("=") for pair in self.sets)}
        mapping = promotion.load(cluster.profiles.path.parent, target)
        return mapping.with_options(sets, self.removes)

    def _check_names(self, names: Sequence[str], mapping: PromotionMapping) -> None:
        """Raises UsageError if two connectors would have the same name there."""
        sources: dict[str, str] = {}
        for name in names:
            target = mapping.name(name)
            other = sources.setdefault(target, name)
            refuse(other != name, f"{other} and {name} would both be {target} in {self.to}: change their mapping")

    def _shown(self, plan: PromotionPlan) -> Result:
        """The plan as a diff and as JSON; with failures, nothing is changed."""
        outcomes, steps = plan.planned.outcomes, list(plan.steps.values())
        failed = any(outcome.failed for outcome in outcomes)
        if failed and not self.dry_run:
            error = HeadraceError("not promoted, because another connector cannot be promoted")
            outcomes = tuple(outcome if outcome.failed else failed_outcome(outcome.name, error) for outcome in outcomes)
        return Result(
            [step.as_json() for step in steps],
            text=text_of(steps),
            names=tuple(step.name for step in steps if step.pending),
            outcomes=outcomes,
            pending=any(step.pending for step in steps),
            plan=plan,
        )

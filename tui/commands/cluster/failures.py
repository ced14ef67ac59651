"""`get failures` and `restart failures`: failed connectors and tasks by root cause."""

from __future__ import annotations

from tui import model
from tui.commands.arguments import option, positionals
from tui.commands.base import ChangingCommand, Command, Danger
from tui.commands.context import CommandContext
from tui.commands.result import Result, Table, TargetOutcome, confirmation
from tui.commands.settling import STARTED, Goal, settle_option, settled
from tui.commands.targets import change_each, matches, require_confirmation
from tui.errors import NotFound
from tui.failures import FailedUnit, FailureGroup, failed_units, groups

COLUMNS = ("FAILED", "CONNECTORS", "CAUSE", "TASKS")
CAUSE_HELP = "only failures whose root cause contains TEXT"


class GetFailures(Command):
    """Show all failed connectors and tasks, those with the same root cause together."""

    verb = "get failures"

    names = positionals("NAME", "only of these connectors; globs are allowed", at_least=0)
    cause = option("--cause", metavar="TEXT", help=CAUSE_HELP, convert=str)

    async def run(self, context: CommandContext) -> Result:
        by_cause = groups(await _failed(context, self.names, self.cause))
        rows = tuple(
            (len(group.units), group.connectors, group.cause, " ".join(unit.title for unit in group.units))
            for group in by_cause
        )
        titles = tuple(unit.title for group in by_cause for unit in group.units)
        return Result([_as_json(group) for group in by_cause], Table(COLUMNS, rows), names=titles)


class RestartFailures(ChangingCommand):
    """Restart all failed connectors and tasks, or those with a root cause; others continue."""

    verb = "restart failures"
    danger = Danger.ASK
    noun = "failure"
    settle = settle_option()

    names = positionals("NAME", "only of these connectors; globs are allowed", at_least=0)
    cause = option("--cause", metavar="TEXT", help=CAUSE_HELP, convert=str)

    async def run(self, context: CommandContext) -> Result:
        units = {unit.title: unit for unit in await _failed(context, self.names, self.cause)}
        if not units:
            raise NotFound("nothing has failed" + (" with this cause" if self.cause else ""), 404)
        if self.dry_run:
            return confirmation([TargetOutcome(title, f"would be restarted: {units[title].cause}") for title in units])
        require_confirmation(context.terminal, self.yes, "restart", list(units))

        async def act(title: str) -> TargetOutcome:
            await _restart(context, units[title])
            return TargetOutcome(title, "restarted")

        goals = {title: Goal(STARTED, unit.connector, unit.task) for title, unit in units.items()}
        return await settled(context, await change_each(units, act), goals, self.settle)


async def _failed(context: CommandContext, names: tuple[str, ...], cause: str | None) -> list[FailedUnit]:
    connectors = model.connectors(await context.cluster.connect.expanded()).values()
    chosen = [connector for connector in connectors if not names or matches(connector.name, names)]
    wanted = (cause or "").lower()
    return [unit for unit in failed_units(chosen) if wanted in unit.cause.lower()]


async def _restart(context: CommandContext, unit: FailedUnit) -> None:
    if unit.task is None:
        await context.cluster.connect.restart(unit.connector)
    else:
        await context.cluster.connect.restart_task(unit.connector, unit.task)


def _as_json(group: FailureGroup) -> dict[str, object]:
    units = [
        {
            "connector": unit.connector,
            "task": unit.task,
            "worker": unit.worker,
            "cause": unit.cause,
            "trace": unit.trace,
        }
        for unit in group.units
    ]
    return {"cause": group.cause, "failed": len(units), "connectors": group.connectors, "failures": units}

"""`check` and `watch`: connectors verified by rules, once or continuously."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from tui.commands.arguments import Argument, duration, flag, option, options, positionals
from tui.commands.base import Command
from tui.commands.context import CommandCluster, CommandContext
from tui.commands.result import Result
from tui.commands.targets import is_glob, matches
from tui.errors import HeadraceError, UsageError, error_line
from tui.watch.checking import Finding, Level, Report, check, unknown_text
from tui.watch.conditions import Observation, condition
from tui.watch.incidents import IncidentChange, Incidents
from tui.watch.notifying import Notifier, report_of, text_of
from tui.watch.observing import Observer
from tui.watch.rules import CRITICAL, WARNING, Rule, load_rules

DEFAULT_RULES = (
    Rule(condition("failed"), CRITICAL),
    Rule(condition("unassigned"), WARNING),
    Rule(condition("stalled"), WARNING),
)
DEFAULT_PERIOD = 10.0  # seconds


def _conditions(letter: str, severity: str) -> Argument[tuple[str, ...]]:
    return options(
        f"-{letter}", f"--{severity}", metavar="CONDITION", help=f"a {severity} condition, such as 'lag > 10k'"
    )


class _ByRules(Command):
    """A command with conditions."""

    names = positionals("NAME", "only these connectors; globs are allowed", at_least=0)
    critical = _conditions("c", CRITICAL)
    warning = _conditions("w", WARNING)

    def _wanted(self, seen: Sequence[Observation]) -> list[Observation]:
        return [
            observation for observation in seen if not self.names or matches(observation.connector.name, self.names)
        ]

    def _given_rules(self) -> list[Rule]:
        """Rules of the command line. Raises UsageError."""
        given = [(text, CRITICAL) for text in self.critical] + [(text, WARNING) for text in self.warning]
        return [Rule(condition(text), severity) for text, severity in given]


class Check(_ByRules):
    """Check connectors once, for monitoring systems and CI. Exit codes: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.

    Conditions: failed, unassigned, paused, stopped, restarting, stalled, lag > N, failures > N, expires < TIME. Without
    conditions, `failed` is critical, `unassigned` and `stalled` are warnings.
    """

    verb = "check"

    by_rules = flag("--rules", help="the rules of config.toml")

    async def run(self, context: CommandContext) -> Result:
        try:
            report = await self._report(context.cluster)
        except Exception as error:  # 1, the code of an internal error, would be WARNING
            if not isinstance(error, HeadraceError) and os.environ.get("HEADRACE_TRACE"):
                raise
            report = _unknown(error)
        names = tuple(dict.fromkeys(f.connector for f in report.findings if f.connector))
        return Result(report.as_json(), text=report.text, names=names, code=report.level)

    @classmethod
    def adapt(cls, error: HeadraceError) -> None:
        """2, the code of wrong usage, would be CRITICAL; monitoring systems show standard output only."""
        report = _unknown(error)
        error.exit_code, error.output, error.data = report.level, report.text, report.as_json()

    async def _report(self, cluster: CommandCluster) -> Report:
        rules = self._rules(cluster)
        seen = await _observer(cluster).observe({rule.when.subject for rule in rules})
        chosen = self._wanted(seen)
        existing = {observation.connector.name for observation in seen}
        missing = [name for name in self.names if not is_glob(name) and name not in existing]
        if self.names and not chosen and not missing:
            raise HeadraceError(f"no connector matches {' '.join(self.names)}")
        report = check(rules, chosen, time.time(), with_unknown=self.by_rules or bool(self.critical or self.warning))
        gone = tuple(Finding(Level.CRITICAL, name, "does not exist") for name in missing)
        return report._replace(findings=(*gone, *report.findings))

    def _rules(self, cluster: CommandCluster) -> list[Rule]:
        given = self._given_rules()
        if not self.by_rules:
            return given or list(DEFAULT_RULES)
        rules = load_rules(cluster.profiles.path.parent, cluster.profile.name)
        if not rules and not given:
            raise UsageError("config.toml has no [[rules]] for this context")
        return rules + given


def _unknown(error: Exception) -> Report:
    return Report(0, (Finding(Level.UNKNOWN, "", error_line(error)),))


class Watch(_ByRules):
    """Watch connectors by the rules of config.toml or by conditions until ^C, and notify of incidents."""

    verb = "watch"

    every = option("--every", metavar="TIME", help="time between two observations; default 10s", convert=duration)
    lasting = option("--for", metavar="TIME", help="end after this time", convert=duration)

    async def run(self, context: CommandContext) -> Result:
        rules = self._given_rules() or load_rules(context.cluster.profiles.path.parent, context.cluster.profile.name)
        if not rules:
            raise UsageError(
                "config.toml has no [[rules]] for this context", "add one, or name a condition: watch -c failed"
            )
        if self.lasting is None and not context.terminal.emits:
            raise UsageError("the screen already checks the rules of config.toml", "or add --for TIME")
        period = DEFAULT_PERIOD if self.every is None else max(self.every, 0.1)
        notifier = Notifier(context.cluster.profile.label, context.terminal.control, context.terminal.report)
        context.terminal.report(
            f"watching {context.cluster.profile.label} by {len(rules)} rule{'s' * (len(rules) > 1)}, every {period:g} s"
        )
        printed: list[Any] = []
        try:
            await self._watch(context, Incidents(rules), notifier, period, printed)
        finally:
            notifier.close()
        return Result() if context.terminal.emits else Result(printed, text="\n".join(item["text"] for item in printed))

    async def _watch(
        self, context: CommandContext, incidents: Incidents, notifier: Notifier, period: float, printed: list[Any]
    ) -> None:
        observer = _observer(context.cluster)
        subjects = {rule.when.subject for rule in incidents.rules}
        deadline = None if self.lasting is None else context.clock() + self.lasting
        trouble = ""
        unknown: set[str] = set()
        while True:
            try:
                seen = await observer.observe(subjects)
            except UsageError:
                raise
            except HeadraceError as error:
                changes = incidents.lost(str(error), context.clock())
                if str(error) != trouble:
                    trouble = str(error)
                    context.terminal.report(f"cannot observe the cluster; its incidents are kept: {trouble}")
            else:
                trouble = ""
                wanted = self._wanted(seen)
                changes = incidents.observe(wanted, context.clock())
                before, unknown = unknown, _unknown_lag(wanted)
                for text in sorted(unknown - before):
                    context.terminal.report(text)
            for change in changes:
                printed.append(self._report(context, change))
                notifier.notify(change)
            left = period if deadline is None else min(period, deadline - context.clock())
            if left <= 0:
                return
            await context.cluster.connect.sleep(left)

    def _report(self, context: CommandContext, change: IncidentChange) -> Any:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        report = {"time": now, **report_of(change, context.cluster.profile.label)}
        text = text_of(change, context.cluster.profile.label)
        context.terminal.emit(report, self.output or "table", (now[11:19], report["event"], change.rule.title, text))
        return report


def _unknown_lag(seen: Sequence[Observation]) -> set[str]:
    """A text for each error for which the lag of running sinks is unknown."""
    names: dict[str, list[str]] = {}
    for observation in seen:
        if observation.lag_error and observation.connector.running:
            names.setdefault(observation.lag_error, []).append(observation.connector.name)
    return {unknown_text("lag", name, error) for error, name in names.items()}


def _observer(cluster: CommandCluster) -> Observer:
    return Observer(cluster.connect, cluster.brokers if cluster.profile.bootstrap else None)

"""Runs changes as logged operations; errors of the cluster are reported in the operation or the status line."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from shlex import quote
from typing import Any

from tui.client.calls import ApiCall
from tui.client.client import Connect
from tui.commands.base import Command, execute
from tui.commands.cluster.loggers import one_worker
from tui.commands.cluster.workers import EachWorker
from tui.commands.context import CommandContext
from tui.commands.result import Result, TargetOutcome
from tui.commands.settling import usual_settling
from tui.contexts import policy
from tui.errors import HeadraceError, error_line
from tui.model import Connector
from tui.screens.operations.actions import ACTIONS, ConnectorAction
from tui.screens.services.cluster_services import masked
from tui.screens.services.connection import ClusterConnection
from tui.screens.services.operations import Operation, Operations

Say = Callable[[str, str], None]  # text, kind


class OperationRunner:
    """Runs the changes of one cluster. `say` shows a text in the status line."""

    def __init__(self, connection: ClusterConnection, operations: Operations, report: Say) -> None:
        self.connection, self.operations, self.report = connection, operations, report

    async def act(self, action: ConnectorAction, connector: Connector) -> Operation:
        """A verb for one connector. Returns when the cluster has responded, before the new state is observed."""
        operation = self._begun(action, connector)
        connect = self.connection.recording_client(
            operation.calls.append, lambda text: self.operations.note(operation, text)
        )
        context = self.connection.context(connect, lambda text: self.operations.note(operation, text))
        try:
            policy.permit(self.connection.profile, action.name)
            await action.send(connector, context)
        except HeadraceError as error:
            self.operations.failed(operation, error_line(error), error)
        else:
            self.operations.accepted(operation)
            self.connection.store.refresh()
        return operation

    def not_sent(self, action: ConnectorAction, connector: Connector, why: str) -> Operation:
        """Logs a verb that was requested, but not sent."""
        operation = self._begun(action, connector)
        self.operations.failed(operation, why)
        return operation

    def _begun(self, action: ConnectorAction, connector: Connector) -> Operation:
        return self.operations.begin(
            action.name,
            connector.name,
            goal=action.goal,
            lines=(action.script_line(connector),),
            doing=action.doing,
            task=action.task,
        )

    async def set_level(self, logger: str, level: str, scope: str) -> Operation:
        """Sets the level of a logger; the operation ends with the response."""
        line = f"patch logger {quote(logger)} -l {level}" + (" -s cluster" if scope == "cluster" else "")
        where = " on every worker" if scope == "cluster" else ""
        operation = self.operations.begin(f"{level}{where} for", logger, lines=(line,), doing="setting")
        connect = self.connection.recording_client(
            operation.calls.append, lambda text: self.operations.note(operation, text)
        )
        try:
            policy.permit(self.connection.profile, "setting a level")
            response = await connect.set_level(logger, level, scope)
        except HeadraceError as error:
            self.operations.failed(operation, error_line(error), error)
        else:
            await self._level_set(operation, connect, level, scope, response)
        return operation

    async def _level_set(
        self, operation: Operation, connect: Connect, level: str, scope: str, response: object
    ) -> None:
        if scope == "cluster" and isinstance(response, list):
            self.operations.failed(operation, await one_worker(connect, level))
            return
        message = f"{len(response)} loggers set" if isinstance(response, list) and len(response) != 1 else "set"
        self.operations.done(operation, message)

    async def change_worker(self, command: EachWorker, worker_id: str) -> Operation:
        """Cordons, uncordons or drains a worker; the operation ends with the response."""
        verb = command.verb.partition(" ")[0]
        operation = self.operations.begin(verb, worker_id, lines=(f"{verb} {quote(worker_id)}",), doing="sending")
        connect = self.connection.recording_client(
            operation.calls.append, lambda text: self.operations.note(operation, text)
        )
        context = self.connection.context(connect, lambda text: self.operations.note(operation, text))
        try:
            policy.permit(self.connection.profile, command.verb)
            outcome = await command.change(context, worker_id)
        except HeadraceError as error:
            self.operations.failed(operation, error_line(error), error)
        else:
            self.operations.done(operation, outcome.message)
        return operation

    async def preview(self, command: Command) -> Result | None:
        """The effect of a command, from its dry run; None if the dry run fails."""
        try:
            context = self.connection.context(self.connection.connect, lambda text: None)
            return await execute(type(command)(**{**command.values, "dry_run": True}), context)
        except HeadraceError as error:
            self.report(error_line(error), "bad")
            return None

    async def run(self, command: Command, line: str, plan: Any = None) -> Result | None:
        """Runs a typed command that is already confirmed, with the plan that its dry run has shown. None if it failed,
        which was reported."""
        calls: list[ApiCall] = []
        operation = self._begin(line) if command.changes else None
        connect = self.connection.recording_client(calls.append, lambda text: self.report(text, "busy"))
        context = self.connection.context(connect, lambda text: self.report(text, "busy"))._replace(plan=plan)
        if self._observed_as(command) is None:
            context = context._replace(settling=usual_settling())
        if command.changes:
            command = type(command)(**{**command.values, "yes": True})
        try:
            result = await execute(command, context)
        except HeadraceError as error:
            if operation:
                operation.calls += _masked(calls, context)
                self.operations.failed(operation, error_line(error))
            else:
                self.report(error_line(error), "bad")
            return None
        if operation:
            with suppress(HeadraceError):  # values of the plugins whose definitions are missing are masked
                await context.cluster.password_keys.of(*(call.config for call in calls if call.changes))
            operation.calls += _masked(calls, context)
            self._close(operation, result)
            self._follow(command, result)
        self.connection.store.refresh()
        return result

    def _begin(self, line: str) -> Operation:
        return self.operations.begin(line, "", lines=(line,), doing="doing")

    def _close(self, operation: Operation, result: Result) -> None:
        message = summary(result.outcomes, operation.title)
        if result.exit_code:
            self.operations.failed(operation, message)
        else:
            self.operations.done(operation, message)

    @staticmethod
    def _observed_as(command: Command) -> ConnectorAction | None:
        """The verb of a key that does the same as a typed command: its result is observed as after the key."""
        return next((action for action in ACTIONS.values() if type(command) is action.command), None)

    def _follow(self, command: Command, result: Result) -> None:
        """Waits for the states of the connectors that a typed verb concerns, as after a key."""
        action = self._observed_as(command)
        for outcome in result.outcomes:
            if action is not None and not outcome.failed:
                line = f"{action.command.verb} {quote(outcome.name)}"
                operation = self.operations.begin(
                    action.name, outcome.name, goal=action.goal, lines=(line,), doing=action.doing
                )
                self.operations.accepted(operation)


def _masked(calls: list[ApiCall], context: CommandContext) -> list[ApiCall]:
    """The calls as the operations log shows them, by the definitions that the context has read."""
    return [masked(call, context.cluster.password_keys.hidden(call.config)) for call in calls]


def summary(outcomes: tuple[TargetOutcome, ...], title: str = "") -> str:
    """One line: the message of a single target, or counts. `title` is shown before it, and may name the target."""
    if len(outcomes) == 1:
        name, message = outcomes[0].name, outcomes[0].message
        return message if name in title.split() else f"{name}: {message}"
    names = {outcome.name for outcome in outcomes}
    failed = [outcome for outcome in outcomes if outcome.failed]
    if not failed:
        return f"done for {len(names)}"
    first = f"{failed[0].name}: {failed[0].message}"
    return f"{len({outcome.name for outcome in failed})} of {len(names)} failed; {first}" if len(names) > 1 else first

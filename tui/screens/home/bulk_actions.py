"""One verb for many connectors: those marked, those that the filter shows, or the failed ones and failed tasks."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable, Sequence

from tui.failures import FailedUnit
from tui.formatting import counted
from tui.model import Connector, by_severity
from tui.screens.home.base import HomeBase
from tui.screens.home.controller import HomeController
from tui.screens.operations.actions import ACTIONS, ConnectorAction, restart_of
from tui.screens.operations.bulk import BulkOperation, BulkTarget, chosen
from tui.screens.services.host import NO_RESPONSE
from tui.screens.services.operations import Operation


class BulkActions:
    """The targets are fixed when the question is shown; later snapshots do not change them."""

    def __init__(self, home: HomeBase, controller: HomeController, steps_changed: Callable[[], None]) -> None:
        self.home, self._controller, self._steps_changed = home, controller, steps_changed

    def targets(self) -> list[Connector]:
        """The marked connectors, also those hidden by the filter; without marks, those that the filter shows."""
        connectors = self.home.snapshot.connectors
        names = self.home.marks or self.home.connector_list.keys
        return by_severity(connectors[name] for name in names if name in connectors)

    def described_targets(self) -> str:
        """For example `3 marked connectors (1 hidden by the filter)`."""
        count, text = len(self.targets()), self.home.filter_text
        if self.home.marks:
            hidden = len(set(self.home.marks) - set(self.home.connector_list.keys))
            return counted(count, "marked connector") + (f" ({hidden} hidden by the filter)" if hidden else "")
        return f"{counted(count, 'connector')} shown by /{text}" if text else f"all {counted(count, 'connector')}"

    def menu(self) -> None:
        from tui.screens.operations.bulk_screen import BulkMenu

        self.home.app.push_screen(BulkMenu(self.described_targets()), lambda name: self.act(name) if name else None)

    def act(self, name: str) -> None:
        """Applies the verb whose key was pressed while connectors are marked, or in the menu."""
        from tui.screens.operations.bulk_screen import question

        home, action = self.home, ACTIONS[name]
        if home.services is not None and (reason := action.lacking(home.services.missing)):
            home.report(reason, "warn")
            return
        if home.is_refused(name) or not home.may_send(change=True):
            return
        description = self.described_targets()
        targets = chosen(action, self.targets(), home.operations.pending)
        if all(target.left_out for target in targets):
            why = targets[0].left_out if len(targets) == 1 else f"{description}, none needs it"
            home.report(f"nothing to {name}: {why}")
            return
        where = f" on {home.profile.label}" if home.profile.production else ""
        answer = self._controller.put(question(action, targets, home.snapshot.connectors, where))
        home.do(self._run(action, targets, f"{name} {description}", answer))

    async def _run(self, action: ConnectorAction, targets: list[BulkTarget], title: str, answer: Future[bool]) -> None:
        home = self.home
        if not await self._controller.agreed(answer, title) or not home.may_send(change=True):
            return
        home.clear_marks()
        home.last_targets = [target.name for target in targets if not target.left_out]
        self._start(self._operation(action, targets))

    def _operation(self, action: ConnectorAction, targets: list[BulkTarget], noun: str = "connector") -> BulkOperation:
        runner = self._controller.runner
        return BulkOperation(
            action, targets, runner.act, runner.not_sent, self.home.snapshot_of, self._steps_changed, noun
        )

    def restart_failed(self, units: Sequence[FailedUnit]) -> str:
        """Asks, then restarts these failed tasks and connectors. Returns why there is no question; empty if there
        is one."""
        home, action = self.home, ACTIONS["restart"]
        if refusal := home.refusal("restart") or (NO_RESPONSE if home.is_stale else ""):
            return refusal
        targets = [_failed_target(unit, home.operations.pending(unit.connector)) for unit in units]
        if all(target.left_out for target in targets):
            return targets[0].left_out if targets else "nothing has failed"
        noun = "connector" if all(unit.task is None for unit in units) else "task"
        if any(unit.task is None for unit in units) and noun == "task":
            noun = "failure"
        where = f" on {home.profile.label}" if home.profile.production else ""
        from tui.screens.operations.bulk_screen import restart_question

        answer = self._controller.put(restart_question(units, targets, noun, where))
        home.do(self._restart_failed(self._operation(action, targets, noun), answer))
        return ""

    async def _restart_failed(self, bulk: BulkOperation, answer: Future[bool]) -> None:
        title = f"restart {counted(len(bulk.targets), bulk.noun)}"
        if await self._controller.agreed(answer, title) and self.home.may_send(change=True):
            self._start(bulk)

    def mark_again(self) -> None:
        """Marks the targets of the last bulk action that still exist, for the next one."""
        home = self.home
        existing = [name for name in home.last_targets if name in home.snapshot.connectors]
        home.clear_marks()
        home.marks.toggle_all(existing)
        home.draw_marks()
        gone = len(home.last_targets) - len(existing)
        home.report(
            f"{counted(len(existing), 'connector')} marked again" + (f"; {gone} no longer exist" if gone else "")
        )

    def _start(self, bulk: BulkOperation) -> None:
        from tui.screens.operations.bulk_screen import BulkScreen

        self._controller.bulk_operations.append(bulk)
        self.home.do(bulk.run())
        if not isinstance(self.home.app.screen, BulkScreen):
            self.home.app.push_screen(BulkScreen(bulk, self._start))


def _failed_target(unit: FailedUnit, running: Operation | None) -> BulkTarget:
    if unit.task is None:
        action = ACTIONS["restart"]._replace(only_failed=True)
    else:
        action = restart_of(unit.task, only_failed=True)
    left_out = f"{running.title} is still under way" if running is not None else ""
    return BulkTarget(unit.connector, left_out, action=action)

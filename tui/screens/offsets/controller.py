"""What the offsets page has to do with the cluster: reading, applying, undoing, setting by time, finishing."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tui import model
from tui.client.client import Connect
from tui.commands.base import CommandContext
from tui.contexts import policy
from tui.editor import draft
from tui.errors import HeadraceError, error_line
from tui.model import Certainty, Connector, Offset
from tui.offsets import bounds, lag, undo
from tui.offsets.brokers import Brokers
from tui.offsets.changes import ChangeKind
from tui.offsets.lag import Lag
from tui.offsets.operation import carry_out
from tui.offsets.plan import OffsetPlan, OffsetsApplied, OffsetsNotApplied
from tui.offsets.seek import in_thread
from tui.screens.base.cluster_services import Desk
from tui.screens.base.dialog import Dialog
from tui.screens.offsets import wording
from tui.screens.operations.operations import Operation

if TYPE_CHECKING:
    from tui.screens.offsets.pane import OffsetsPane

AGAIN = 30.0  # seconds until brokers that could not be asked are asked again


class Dealings:
    """Of one page."""

    def __init__(self, desk: Desk, pane: OffsetsPane) -> None:
        self.desk, self.pane = desk, pane
        self._brokers: Brokers | None = None
        self._brokers_at = 0.0  # when they may be asked

    def context(self, connect: Connect) -> CommandContext:
        return self.desk.cluster.context(connect, lambda text: None)

    async def load(self, name: str) -> None:
        try:
            answer = await self.desk.connect.offsets_in_detail(name)
        except HeadraceError as error:
            self.pane.unreadable(name, error_line(error))
            return
        offsets = model.offsets(answer)
        lags = lag.of_answer(answer) or await self._lags(name, offsets)
        self.pane.loaded(name, offsets, lags, lag.warnings(answer))

    async def _lags(self, name: str, offsets: tuple[Offset, ...]) -> dict[str, Lag]:
        """From the brokers of the context, where the worker does not tell."""
        profile = self.desk.profile
        if not profile.bootstrap or self.desk.is_ours or time.monotonic() < self._brokers_at:
            return {}
        try:
            self._brokers = brokers = self._brokers or self.context(self.desk.connect).brokers()
            return await in_thread(lambda: lag.of_brokers(offsets, brokers))
        except HeadraceError as error:
            self._brokers_at = time.monotonic() + AGAIN
            self.desk.say(f"no lag: {error_line(error)}", "warn", name)
            return {}

    async def bound(self, connector: Connector, base: Sequence[Offset], lags: Mapping[str, Lag]) -> None:
        """What the topics have: from the brokers where they can be asked, else as far as the worker tells."""
        found = bounds.of_lags([entry.partition for entry in base], lags)
        if self.desk.profile.bootstrap and time.monotonic() >= self._brokers_at:
            topics = {at[0] for entry in base if (at := bounds.topic_partition(entry.partition))}
            topics |= {topic.strip() for topic in connector.config.get("topics", "").split(",")} - {""}
            try:
                self._brokers = brokers = self._brokers or self.context(self.desk.connect).brokers()
                found = await in_thread(lambda: bounds.of_brokers(topics, brokers))
            except HeadraceError as error:
                self._brokers_at = time.monotonic() + AGAIN
                self.desk.say(f"not compared with the topics: {error_line(error)}", "warn", connector.name)
        self.pane.bounded(connector.name, found)

    # Changing

    def apply(self, plan: OffsetPlan) -> None:
        if self.desk.operations.pending(plan.name):
            self.desk.say(f"something is still under way for {plan.name}; o shows it", "warn", plan.name)
        elif self.desk.may_change("altering offsets"):
            self.desk.do(self._apply(plan))

    async def _apply(self, plan: OffsetPlan) -> None:
        resets = any(change.kind is ChangeKind.RESET for change in plan.changes)
        dialog = Dialog(
            f"alter the offsets of {plan.name}?",
            wording.question(plan),
            f"stop, alter, {plan.restoring_verb}" if plan.must_stop else "alter",
            name=plan.name if resets else "",
            danger=self.desk.profile.production,
            why=plan.why,
        )
        if not await self.desk.ask(dialog, "the text is kept"):
            return
        plan = plan._replace(why=dialog.why)
        self.pane.applying(plan.name)
        try:
            done = await self._carried_out(plan)
        except HeadraceError as error:
            refused = error if isinstance(error, OffsetsNotApplied) else OffsetsNotApplied(error.message, error.advice)
            self.pane.refused(plan, refused)
            is_left = refused.unfinished
        else:
            self.pane.applied(plan, done)
            is_left = bool(done.trouble)
        if is_left:
            self.desk.offer_unfinished(plan.name)
        self.pane.screen.refresh_bindings()

    async def _carried_out(self, plan: OffsetPlan) -> OffsetsApplied:
        """Step by step, as the log shows; it is at its end when the connector is seen as it was."""
        operations, cluster = self.desk.operations, self.desk.cluster
        operation = operations.begin("alter offsets", plan.name, lines=tuple(plan.script_lines), doing="altering")
        connect = cluster.overheard(operation.calls.append, lambda text: operations.note(operation, text))
        try:
            policy.permit(self.desk.profile, "alter offsets")
            change_store = self.context(connect).change_store
            done = await carry_out(plan, connect, change_store, lambda step: operations.note(operation, step))
        except HeadraceError as error:
            operations.failed(operation, error_line(error), error)
            raise
        finally:
            cluster.store.refresh()
        self._ended(operation, plan, done)
        return done

    def _ended(self, operation: Operation, plan: OffsetPlan, done: OffsetsApplied) -> None:
        operations, certain = self.desk.operations, done.verdict.certainty is Certainty.DEFINITE
        operation.doubtful = not certain
        operations.note(operation, done.verdict.message + ("" if certain else f" ({done.verdict.by_hand})"))
        if plan.must_stop and not done.left_stopped:
            operation.goal = plan.state
            operations.accepted(operation)
        else:
            operations.done(operation, "done" if certain else "possible success, see above")

    # Looking back, and setting by time: both end as a text with the changes in it

    async def undo(self, name: str) -> None:
        connect = self.desk.connect
        one = undo.last(await undo.history(connect, self.context(connect).change_store, name), name)
        now = model.offsets(await connect.offsets(name))
        back = undo.undone(one, now)
        if not back:
            self.desk.say(f"nothing to undo: the offsets are as they were before {one}", about=name)
        elif (connector := self.pane.connector) is not None and connector.name == name:
            self.pane.open(draft.of_changes(connector, now, back, f"undo: {one}"))
            self.pane.say(f"takes back {one}" + (f": {one.why}" if one.why else ""))

    async def travel(self, name: str, here: Offset | None) -> None:
        from tui.screens.offsets.set_by_time import SetBy

        traveller = self.context(self.desk.connect).traveller
        found = await self.pane.app.push_screen_wait(SetBy(name, here, traveller))
        connector = self.pane.connector
        if found is not None and connector is not None and connector.name == name:
            self.pane.open(draft.of_changes(connector, found.base, found.changes))

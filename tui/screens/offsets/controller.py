"""Requests of the offsets page: reading, comparing with topics, applying, undoing, setting by time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tui import model
from tui.contexts import policy
from tui.editor import draft
from tui.editor.draft import OffsetDraft
from tui.errors import HeadraceError, error_line
from tui.model import Certainty, Connector, Offset, topics_read
from tui.offsets import bounds, partitions, undo
from tui.offsets.bounds import Bounds
from tui.offsets.changes import ChangeKind, changes
from tui.offsets.lag import NO_WARNINGS, Lag, OffsetWarnings
from tui.offsets.operation import carry_out
from tui.offsets.plan import OffsetPlan, OffsetsApplied, OffsetsNotApplied
from tui.offsets.seek import SeekPlan, SeekPlanner
from tui.screens.base.dialog import Dialog
from tui.screens.offsets import wording
from tui.screens.services.cluster_services import ClusterServices
from tui.screens.services.offset_reader import OffsetReader
from tui.screens.services.operations import Operation


class OffsetsPage(Protocol):
    """The page as the controller uses it, a `pane.OffsetsPane`. `name` is always the connector concerned."""

    connector: Connector | None

    def loaded(
        self, name: str, offsets: tuple[Offset, ...], lags: Mapping[str, Lag], remarks: OffsetWarnings = NO_WARNINGS
    ) -> None: ...

    def unreadable(self, name: str, message: str) -> None: ...

    def bounded(self, name: str, bounds: Bounds) -> None: ...

    def open(self, draft: OffsetDraft) -> None: ...

    def report(self, text: str, kind: str = "info") -> None: ...

    async def ask(self, dialog: Dialog, instead: str) -> bool: ...

    async def choose_position(self, name: str, here: Offset | None, seek_planner: SeekPlanner) -> SeekPlan | None: ...

    def applying(self, name: str) -> None: ...

    def applied(self, plan: OffsetPlan, done: OffsetsApplied) -> None: ...

    def refused(self, plan: OffsetPlan, error: OffsetsNotApplied) -> None: ...

    def interrupted(self, name: str) -> None: ...

    def refresh_bindings(self) -> None: ...


class OffsetsController:
    """The controller of one page."""

    def __init__(self, services: ClusterServices, page: OffsetsPage) -> None:
        self.services, self.page = services, page
        self.reader = OffsetReader(services)

    async def load(self, name: str) -> None:
        """Reads the offsets and their lag, and hands them to the page."""
        try:
            read = await self.reader.read(name)
        except HeadraceError as error:
            self.page.unreadable(name, error_line(error))
        else:
            self.page.loaded(name, read.offsets, read.lags, read.warnings)

    async def bound(self, connector: Connector, base: Sequence[Offset], lags: Mapping[str, Lag]) -> None:
        """Reads the first and last offsets of the topics: from the brokers, or from what the worker reports."""
        topic_bounds = bounds.of_lags([entry.partition for entry in base], lags)
        topics = {at[0] for entry in base if (at := bounds.topic_partition(entry.partition))}
        topics.update(topics_read(connector.config))
        trouble = "not compared with the topics"
        known = await self.reader.ask(connector.name, lambda brokers: bounds.of_brokers(topics, brokers), trouble)
        if known is not None:
            topic_bounds = known
        self.page.bounded(connector.name, topic_bounds)

    # Changing

    def apply(self, plan: OffsetPlan) -> None:
        """Asks, then carries out the plan as a logged operation."""
        if self.services.operations.pending(plan.name):
            text = f"another operation is still under way for {plan.name}; o shows it"
            self.services.report(text, "warn", plan.name)
        elif self.services.may_change("altering offsets"):
            self.services.do(self._apply(plan))

    async def _apply(self, plan: OffsetPlan) -> None:
        resets = any(change.kind is ChangeKind.RESET for change in plan.changes)
        dialog = Dialog(
            f"alter the offsets of {plan.name}?",
            wording.question(plan),
            f"stop, alter, {plan.restoring_verb}" if plan.must_stop else "alter",
            name=plan.name if resets else "",
            danger=self.services.profile.production,
            why=plan.why,
        )
        if not await self.page.ask(dialog, "the text is kept"):
            return
        if why := self._outdated(plan):
            self.services.report(f"not sent: {why}; the text is kept", "warn", plan.name)
            return
        plan = plan._replace(why=dialog.why)
        self.page.applying(plan.name)
        try:
            done = await self._carried_out(plan)
        except HeadraceError as error:
            refused = error if isinstance(error, OffsetsNotApplied) else OffsetsNotApplied(error.message, error.advice)
            self.page.refused(plan, refused)
            is_unfinished = refused.unfinished
        else:
            self.page.applied(plan, done)
            is_unfinished = bool(done.trouble)
        if is_unfinished:
            self.page.interrupted(plan.name)
        self.page.refresh_bindings()

    def _outdated(self, plan: OffsetPlan) -> str:
        """The reason why the answer no longer applies, as someone else has changed the connector; empty if it does."""
        now = self.services.snapshot.connectors.get(plan.name)
        if now is None:
            return f"{plan.name} was deleted meanwhile"
        is_other = plan._replace(state=now.state).restoring_verb != plan.restoring_verb
        return f"{plan.name} is {now.state} now, not {plan.state}" if is_other else ""

    async def _carried_out(self, plan: OffsetPlan) -> OffsetsApplied:
        """Logs each step. The operation ends when the connector is observed in its former state."""
        operations, connection = self.services.operations, self.services.connection
        operation = operations.begin("alter offsets", plan.name, lines=tuple(plan.script_lines), doing="altering")
        connect = connection.recording_client(operation.calls.append, lambda text: operations.note(operation, text))
        try:
            policy.permit(self.services.profile, "alter offsets")
            context = self.services.context(connect)
            done = await carry_out(
                plan,
                connect,
                context.cluster.change_store,
                lambda step: operations.note(operation, step),
                context.clock,
            )
        except HeadraceError as error:
            operations.failed(operation, error_line(error), error)
            raise
        finally:
            connection.store.refresh()
        self._ended(operation, done)
        return done

    def _ended(self, operation: Operation, done: OffsetsApplied) -> None:
        operations, certain = self.services.operations, done.verdict.certainty is Certainty.DEFINITE
        operation.doubtful = not certain
        operations.note(operation, done.verdict.message + ("" if certain else f" ({partitions.by_hand(done.verdict)})"))
        if problems := done.problems():
            stopped = ["the connector remains STOPPED"] if done.left_stopped else []
            operations.failed(operation, "; ".join([*problems, *stopped]))
        elif done.plan.must_stop and not done.left_stopped:
            operation.goal = done.plan.state
            operations.accepted(operation)
        else:
            operations.done(operation, "done" if certain else partitions.by_hand(done.verdict))

    # Undoing and setting by time: both open the editor with the changes filled in

    async def undo(self, name: str) -> None:
        """Opens the editor with the last change of offsets reversed."""
        connect = self.services.connect
        entry = undo.last(await undo.history(connect, self.services.context().cluster.change_store, name), name)
        now = model.offsets(await connect.offsets(name))
        back = undo.undone(entry, now)
        if not back:
            self.services.report(f"nothing to undo: the offsets are as they were before {entry}", subject=name)
        elif (connector := self.page.connector) is not None and connector.name == name:
            self.page.open(draft.of_changes(connector, now, back, f"undo: {entry}"))
            self.page.report(f"reverses {entry}" + (f": {entry.why}" if entry.why else ""))

    async def set_to(self, name: str, topic: str, partition: int, offset: int) -> None:
        """Opens the editor with one partition set to an offset."""
        now = model.offsets(await self.services.connect.offsets(name))
        wanted = Offset({"kafka_topic": topic, "kafka_partition": partition}, {"kafka_offset": offset})
        edits = changes(now, [wanted])
        connector = self.page.connector
        if not edits:
            self.services.report(f"the offset of {topic}-{partition} is {offset} already", subject=name)
        elif connector is not None and connector.name == name:
            self.page.open(draft.of_changes(connector, now, edits))

    async def set_by_time(self, name: str, here: Offset | None) -> None:
        """Asks for a position and opens the editor with it; `here` is the partition under the cursor."""
        seek_plan = await self.page.choose_position(name, here, self.services.context().cluster.seek_planner)
        connector = self.page.connector
        if seek_plan is not None and connector is not None and connector.name == name:
            self.page.open(draft.of_changes(connector, seek_plan.base, seek_plan.changes))

"""Handles messages of slots about their tasks, and passes them to the herder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from runtime.engine.placement.roster import Roster
from runtime.engine.placement.slot_link import SlotLink, TaskRun
from runtime.engine.port import EngineListener, StartRefused
from runtime.engine.protocol.messages import (
    ConfirmStartMessage,
    MetersMessage,
    OffsetsMessage,
    ReadOffsetsMessage,
    RunReport,
    StartReply,
    TaskReport,
)
from runtime.engine.protocol.task_specs import key_of
from runtime.engine.worker.stacks import Stacks
from runtime.model.states import State
from runtime.model.task_spec import SourceOffset
from runtime.system.frames import FrameError

UNEXPECTED_END = "The task has ended without an error, although it was not stopped"


class TaskReports:
    """Event loop only. `no_room` is called with each task that its slot could not start, and the reason; `place` places
    waiting tasks."""

    def __init__(
        self,
        roster: Roster,
        listener: EngineListener,
        stacks: Stacks,
        no_room: Callable[[TaskRun, SlotLink, str], None],
        place: Callable[[], None],
        clock: Callable[[], float],
    ) -> None:
        self._roster, self._listener, self._stacks, self._no_room = roster, listener, stacks, no_room
        self._place, self._clock = place, clock
        self._running: set[asyncio.Task[None]] = set()

    def take(self, link: SlotLink, message: TaskReport) -> None:
        """Handle a message about one task, or the meters of all tasks that have changed."""
        if message["op"] == "meters":
            self._meters(link, message)
        elif message["op"] == "java_ended":
            runs = [key_of(run) for run in message["tasks"]]
            self._listener.java_ended(message["reason"])
            self._roster.java_ended(link, runs, message["reason"], message["at_fault"])
        elif (task := link.tasks.get(key_of(message))) is not None:
            self._of_task(task, link, message)

    def _meters(self, link: SlotLink, message: MetersMessage) -> None:
        for report in message["tasks"]:
            if (task := link.tasks.get(key_of(report))) is not None:
                if report["meter"]["written"]:
                    self._roster.client_failures.forget(task.spec.id)
                self._listener.task_meter(task.spec.id, task.spec.epoch, report["meter"])

    def _of_task(self, task: TaskRun, link: SlotLink, message: RunReport) -> None:
        current = self._roster.tasks.get(task.spec.id) is task  # otherwise the herder has stopped it
        match message["op"]:
            case "starting":
                link.admission.acknowledged(task.key, self._clock())
            case "state":
                self._started(task, link)
                state = State(message["state"])
                task.failed = state is State.FAILED
                task.handed_back = message["trace"] if state is State.UNASSIGNED else None
                if message["client_failed"]:
                    task.condemned = self._roster.client_failures.failed(task.spec.id, message["trace"] or "")
                if current:
                    self._listener.task_state(task.spec.id, task.spec.epoch, state, message["trace"])
            case "topic" if task.revoked_at is None:  # also from a stopping task, which has written to it
                self._listener.task_topic(task.spec.id, task.spec.epoch, message["topic"])
            case "offsets" if task.revoked_at is None:  # also from a stopping task
                self._background(self._keep_offsets(task, link, message))
            case "read_offsets" if task.revoked_at is None:
                self._background(self._read_offsets(task, link, message))
            case "confirm_start" if current:  # otherwise a request to stop is on its way
                self._background(self._confirm_start(task, link, message))
            case "stuck" if current:
                self._listener.task_stuck(task.spec.id, task.spec.epoch, message["call"], message["seconds"])
            case "errors":  # also from a stopping task
                self._listener.task_errors(task.spec.id, task.spec.epoch, message["counts"])
            case "stack":
                self._stacks.answered(message)
            case "no_room":
                self._no_room(task, link, message["reason"])
            case "member":
                task.member_id = message["member_id"]
            case "revoked":
                task.harmless.set()
            case "ended":
                self._ended(task, link, current)

    def _ended(self, task: TaskRun, link: SlotLink, current: bool) -> None:
        link.remove(task)
        task.end()
        self._place_more()
        if current and task.condemned is not None:
            task.failed = True
            self._listener.task_state(task.spec.id, task.spec.epoch, State.FAILED, task.condemned)
        elif current and task.handed_back is not None:
            del self._roster.tasks[task.spec.id]
            self._listener.task_lost(task.spec.id, task.spec.epoch, task.member_id, task.handed_back)
        elif current and not task.failed:
            self._listener.task_state(task.spec.id, task.spec.epoch, State.FAILED, UNEXPECTED_END)

    def _started(self, task: TaskRun, link: SlotLink) -> None:
        link.admission.finished(task.key)
        self._place_more()

    def _place_more(self) -> None:
        if self._roster.has_waiting:
            self._place()

    def _background(self, work: Coroutine[Any, Any, None]) -> None:
        running = asyncio.create_task(work)
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def _read_offsets(self, task: TaskRun, link: SlotLink, message: ReadOffsetsMessage) -> None:
        offsets: Sequence[Mapping[str, Any] | None] = ()
        error = None
        try:
            offsets = await self._listener.read_offsets(task.spec.id, message["partitions"])
        except Exception as e:  # reported to the task
            error = str(e) or type(e).__name__
        number = message["number"]
        try:
            link.send({"op": "offsets_read", "number": number, "offsets": offsets, "error": error})
        except FrameError as e:  # too many offsets
            link.send({"op": "offsets_read", "number": number, "offsets": (), "error": str(e)})

    async def _confirm_start(self, task: TaskRun, link: SlotLink, message: ConfirmStartMessage) -> None:
        offsets: Sequence[SourceOffset] = ()
        error, final = None, False
        try:
            offsets = await self._listener.confirm_start(task.spec.id, task.spec.epoch)
        except StartRefused as e:
            error, final = str(e), e.final
        except Exception as e:  # reported to the task, which is placed again
            error = str(e) or type(e).__name__
        number = message["number"]
        try:
            link.send(_start_reply(number, offsets, error, final))
        except FrameError as e:  # too many offsets
            link.send(_start_reply(number, (), str(e), True))

    async def _keep_offsets(self, task: TaskRun, link: SlotLink, message: OffsetsMessage) -> None:
        records = [(key.encode(), None if value is None else value.encode()) for key, value in message["records"]]
        error = None
        try:
            await self._listener.task_offsets(task.spec.id, records)
        except Exception as e:  # the task retries the commit
            error = str(e) or type(e).__name__
        link.send({"op": "offsets", "number": message["number"], "error": error})


def _start_reply(number: int, offsets: Sequence[SourceOffset], error: str | None, final: bool) -> StartReply:
    return {"op": "start_confirmed", "number": number, "offsets": offsets, "error": error, "final": final}

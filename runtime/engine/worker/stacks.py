"""The worker's requests to slots for the stacks of their tasks."""

from __future__ import annotations

import asyncio
import itertools

from runtime.engine.placement.slot_link import TaskRun
from runtime.engine.port import SlotSilentError, TaskStack
from runtime.engine.protocol.messages import StackMessage
from runtime.engine.protocol.task_specs import about


class Stacks:
    """Matches answers to requests by number. Event loop only."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[StackMessage]] = {}

    async def ask(self, task: TaskRun, within: float) -> TaskStack:
        """The stack of a task that is on a slot. SlotSilentError without a response within `within` seconds."""
        link = task.link
        assert link is not None
        number = next(self._numbers)
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        link.send({"op": "stack", **about(task.spec), "number": number})
        try:
            async with asyncio.timeout(within):
                response = await future
        except TimeoutError:
            raise SlotSilentError(
                f"slot {link.slot} (process {link.process.pid}) did not answer in {within:g} s"
            ) from None
        finally:
            del self._waiting[number]
        return TaskStack(
            link.slot, link.process.pid, response["call"], response["seconds"], response["stack"], link.host
        )

    def answered(self, message: StackMessage) -> None:
        """A slot has answered a request."""
        future = self._waiting.get(message["number"])
        if future is not None and not future.done():
            future.set_result(message)

"""The event loop of one async task, on a thread of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import inspect
import logging
import sys
import threading
import traceback
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any

from runtime.api.errors import ConnectError
from runtime.pipeline.task.control import StoppedError

if TYPE_CHECKING:
    from runtime.pipeline.task.control import TaskControl

_log = logging.getLogger(__name__)

_CLOSE_TIMEOUT = 2.0  # seconds for asyncio tasks and threads that the plugin has left behind

Outcome = tuple[Any, "BaseException | None"]
"""The result of a call, or its exception."""


class Call:
    """A running call of the plugin. Made and read on the task's thread."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.future: concurrent.futures.Future[Outcome] = concurrent.futures.Future()
        self.task: asyncio.Task[Outcome] | None = None  # set on the loop's thread
        self.cancelled = False

    @property
    def done(self) -> bool:
        """Whether the call has returned or was cancelled."""
        return self.future.done()

    def drop(self) -> None:
        """The call was cancelled."""
        self.future.cancel()
        self.future.set_running_or_notify_cancel()  # wakes those that wait for it

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the call has ended, for at most `seconds`."""
        concurrent.futures.wait((self.future,), seconds)


class TaskLoop:
    """Runs the methods of a plugin. The loop is created with the first call, and runs until close()."""

    def __init__(self, control: TaskControl, name: str) -> None:
        """A stop of the task cancels calls with `cancel_on_stop`; a revoked task cancels all."""
        self._control, self._name = control, name
        self._context = contextvars.copy_context()  # log lines of coroutines carry the task's name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._calls: dict[Call, bool] = {}  # the running calls, and whether a stop cancels them
        self._closing = False
        control.on_stop(self._stop_requested)

    def begin(self, method: Callable[..., Any], *args: Any, cancel_on_stop: bool = False) -> Call:
        """Start a call of a method, which may be a coroutine function, and return at once."""
        loop = self._loop or self._start()
        call = Call(getattr(method, "__name__", "call"))
        with self._lock:
            self._calls[call] = cancel_on_stop
        loop.call_soon_threadsafe(self._run_call, call, method, args)
        if cancel_on_stop and self._control.stopping:
            self.cancel(call)
        return call

    def result(self, call: Call) -> Any:
        """The result of a call, which is waited for. Raises its exception, StoppedError if a stop of the task has
        cancelled it, and ConnectError if the plugin itself has."""
        try:
            value, error = call.future.result()
        except concurrent.futures.CancelledError:
            if call.cancelled:
                raise StoppedError from None
            raise ConnectError(f"{call.method}() was cancelled by the plugin") from None
        if error is not None:
            raise error
        return value

    def call(self, method: Callable[..., Any], *args: Any, cancel_on_stop: bool = False) -> Any:
        """As begin() and result()."""
        return self.result(self.begin(method, *args, cancel_on_stop=cancel_on_stop))

    def cancel(self, call: Call) -> None:
        """Cancel a call; it may take a moment to end."""
        call.cancelled = True
        self._post(lambda: call.task is not None and call.task.cancel())  # otherwise it has not started

    def stack(self) -> str:
        """Where the plugin's calls are, as in tracebacks: the coroutines that wait, or the thread if it does not
        wait. Called on any thread."""
        with self._lock:
            tasks = [call.task for call in self._calls if call.task is not None]
        return "".join(f"{task.get_name()}():\n{self._stack_of(task.get_coro())}" for task in tasks)

    def _stack_of(self, coroutine: Any) -> str:
        frames: list[tuple[FrameType, int]] = []
        while coroutine is not None:
            if getattr(coroutine, "cr_running", False) and self._thread is not None:
                frame = sys._current_frames().get(self._thread.ident or 0)
                return "" if frame is None else "".join(traceback.format_stack(frame))
            if (frame := getattr(coroutine, "cr_frame", None)) is not None:
                frames.append((frame, frame.f_lineno))
            coroutine = getattr(coroutine, "cr_await", None)
        return "".join(traceback.StackSummary.extract(iter(frames)).format())

    def close(self) -> None:
        """Cancel what the plugin has left behind, and end the loop and its thread."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or self._closing:
            return
        last = self.begin(self._clean_up)
        last.wait(_CLOSE_TIMEOUT + 1)
        self._closing = True
        self._post(loop.stop)
        thread.join(1.0)
        if not last.done or thread.is_alive():
            _log.warning("The event loop of the task does not end, since a call blocks it; it is abandoned")

    def _start(self) -> asyncio.AbstractEventLoop:
        self._loop = loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._context.copy().run, args=(self._run, loop), name=f"{self._name}-loop", daemon=True
        )
        self._thread.start()
        self._control.plugin_stack = self.stack
        return loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            while not self._closing:
                try:
                    loop.run_forever()
                except BaseException:  # SystemExit of a background task must not end the loop
                    _log.exception("A background task of the plugin raised an error in its event loop")
        finally:
            loop.close()

    def _run_call(self, call: Call, method: Callable[..., Any], args: tuple[Any, ...]) -> None:
        if call.cancelled:
            call.drop()
            self._forget(call)
            return
        assert self._loop is not None
        call.task = self._loop.create_task(_outcome(method, args), name=call.method, context=self._context)
        call.task.add_done_callback(partial(self._ended, call))

    def _ended(self, call: Call, task: asyncio.Task[Outcome]) -> None:
        self._forget(call)
        if task.cancelled():
            call.drop()
        else:
            call.future.set_result(task.result())

    def _forget(self, call: Call) -> None:
        with self._lock:
            self._calls.pop(call, None)

    def _stop_requested(self) -> None:
        with self._lock:
            calls = [call for call, with_stop in self._calls.items() if with_stop or self._control.revoked]
        for call in calls:
            self.cancel(call)

    def _post(self, callback: Callable[[], object]) -> None:
        if self._loop is None:
            return
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop was closed meanwhile
            return

    async def _clean_up(self) -> None:
        loop = asyncio.get_running_loop()
        left = asyncio.all_tasks(loop) - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_CLOSE_TIMEOUT / 2)
        await loop.shutdown_asyncgens()
        try:
            async with asyncio.timeout(_CLOSE_TIMEOUT / 2):
                await loop.shutdown_default_executor()
        except TimeoutError:
            _log.warning("A thread that the task has started with asyncio.to_thread() does not end; it is abandoned")


async def _outcome(method: Callable[..., Any], args: tuple[Any, ...]) -> Outcome:
    """The result of a method or its exception: an exit raised in an asyncio task would end the loop."""
    try:
        value = method(*args)
        return (await value if inspect.isawaitable(value) else value), None
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # returned to the caller
        return None, error

"""The thread on which a function of a user runs, so that its task notices when it does not return."""

from __future__ import annotations

import ctypes
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from runtime.api.errors import RetriableError
from runtime.transforms.tables.errors import RefusedError

_LOOK = 0.1  # seconds between two looks whether the task is to stop

T = TypeVar("T")


class FunctionThread:
    """Runs calls one after another, all on one thread."""

    def __init__(self, timeout: float, stopping: Callable[[], bool]) -> None:
        """`timeout` in seconds of a call; `stopping`: whether the task is to stop."""
        self._timeout, self._stopping = timeout, stopping
        self._calls: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None] = queue.SimpleQueue()
        self._slow: RefusedError | None = None
        context = copy_context()  # log lines carry the task's name
        self._thread = threading.Thread(target=context.run, args=(self._run,), name="python-udf", daemon=True)
        self._thread.start()

    def run(self, call: Callable[[], T], name: str) -> T:
        """The result of a call. RefusedError if it takes too long: it is abandoned, and so are all later calls.
        RetriableError if the task is to stop meanwhile."""
        if self._slow is not None:
            raise self._slow
        future: Future[T] = Future()
        self._calls.put((call, future))
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return future.result(_LOOK)
            except TimeoutError:
                if future.done():  # raised by the call
                    raise
            if self._stopping():
                self._interrupt()
                raise RetriableError(f"{name} is interrupted, since the task is to stop")
            if time.monotonic() >= deadline:
                self._slow = RefusedError(
                    f"{name} has not returned within {self._timeout:g} s (timeout.ms){self._position()}. Make it "
                    "faster, or the batches smaller"
                )
                self._interrupt()
                raise self._slow

    def close(self) -> None:
        """End the thread after its call."""
        self._calls.put(None)

    def _run(self) -> None:
        process = os.getpid()
        while (item := self._calls.get()) is not None:
            call, future = item
            try:
                finish = partial(future.set_result, call())
            except BaseException as error:  # raised again by run()
                finish = partial(future.set_exception, error)
            if os.getpid() != process:  # a process that the function has forked and not ended: nothing else runs in it
                os._exit(1)
            finish()
            del item, call, future, finish

    def _position(self) -> str:
        """Where the function is."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        if frame is None:
            return ""
        code = frame.f_code
        return f": it is in {code.co_name}() at {Path(code.co_filename).name}:{frame.f_lineno}"

    def _interrupt(self) -> None:
        """End the call as soon as it runs Python code."""
        self.close()
        ident = ctypes.c_ulong(self._thread.ident or 0)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(SystemExit))

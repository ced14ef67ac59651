"""Calls a plugin on a thread of its own, as a slot does, and gives up a call that does not return."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from runtime.plugin_kit.conformance.outcome import CheckFailed

T = TypeVar("T")

THREAD = "conformance-task"
"""Prefix of the names of these threads, which belong to the suite."""

_GIVE_UP = 15.0  # seconds


class CallThread:
    """One thread, on which all calls of a task run. close() ends it."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)
        self._thread.start()

    def call(self, name: str, function: Callable[..., T], *args: Any, seconds: float = _GIVE_UP) -> T:
        """The result of the function, or its exception. CheckFailed if it takes more than `seconds`."""
        results: queue.SimpleQueue[tuple[bool, Any]] = queue.SimpleQueue()

        def run() -> None:
            try:
                results.put((True, function(*args)))
            except BaseException as error:  # third-party code
                results.put((False, error))

        self._calls.put(run)
        try:
            returned, result = results.get(timeout=seconds)
        except queue.Empty:
            raise CheckFailed(
                f"{name} did not return within {seconds:g} s",
                "Use timeouts for everything that can wait: a worker can only stop a task between two calls",
            ) from None
        if not returned:
            raise result
        return result  # type: ignore[no-any-return]  # the function's own result

    def close(self) -> None:
        """End the thread after the calls in progress."""
        self._calls.put(None)
        self._thread.join(1.0)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            call()

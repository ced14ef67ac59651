"""Messages from a slot to the worker: reports, signs of life, and log lines up to a limit."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable

from runtime.engine.protocol.messages import AliveMessage, FromSlot, LogMessage
from runtime.logs.formats import MAX_RAW_LINE, cut
from runtime.system.frames import FrameError
from runtime.system.processes import resident

MAX_LOG_LINES = 1000


class Outbox:
    """A queue, and the thread that writes it to the channel, so that no task waits for the worker.

    The same thread reports that the slot is alive. The worker kills a process that cannot run this thread.
    """

    def __init__(
        self,
        send: Callable[[FromSlot], None],
        alive_every: float,
        clock: Callable[[], float] = time.monotonic,
        alive: Callable[[], AliveMessage] = lambda: alive_message(),
    ) -> None:
        """`alive` makes the sign of life."""
        self._send = send
        self._every = alive_every
        self._clock = clock
        self._alive = alive
        self._queue: queue.SimpleQueue[FromSlot] = queue.SimpleQueue()
        self._lock = threading.RLock()  # reentrant: the garbage collector may run code inside that logs
        self._lines = 0
        self._dropped = 0

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="outbox", daemon=True).start()

    def put(self, message: FromSlot) -> None:
        """Queue a message that is never dropped. Thread-safe."""
        self._queue.put(message)

    def log(self, level: str, logger: str, message: str, context: str) -> None:
        """Queue a log line, or drop it if MAX_LOG_LINES are waiting. Thread-safe."""
        with self._lock:
            if self._lines >= MAX_LOG_LINES:
                self._dropped += 1
                return
            self._lines += 1
        self._queue.put(_line(level, logger, cut(message, MAX_RAW_LINE), context))

    def _run(self) -> None:
        due = self._clock()
        try:
            while True:
                if (now := self._clock()) >= due:
                    self._send(self._alive())
                    due = now + self._every
                try:
                    message = self._queue.get(timeout=max(due - now, 0.001))
                except queue.Empty:
                    continue
                self._send_checked(message)
                if message["op"] == "log":
                    self._sent_line()
        except OSError:  # the worker has closed the channel
            os._exit(0)

    def _send_checked(self, message: FromSlot) -> None:
        """A plugin chooses the size of some texts, such as names of topics: no message of a task ends the slot."""
        try:
            self._send(message)
        except FrameError as error:
            about = f"{message.get('connector', '')}-{message.get('task', '')}"
            self._send(
                _line("ERROR", __name__, f"The message {message['op']} of task {about} is left out: {error}", "")
            )

    def _sent_line(self) -> None:
        with self._lock:
            self._lines -= 1
            dropped, self._dropped = self._dropped, 0
        if dropped:
            self._send(_line("WARN", __name__, f"{dropped} log lines were dropped: the worker could not keep up", ""))


def alive_message(java_memory: int = 0, java_heap: int = 0) -> AliveMessage:
    """The memory of this process and of its JVM, in bytes."""
    return {"op": "alive", "memory": resident() + java_memory, "java_memory": java_memory, "java_heap": java_heap}


def _line(level: str, logger: str, message: str, context: str) -> LogMessage:
    return {"op": "log", "level": level, "logger": logger, "message": message, "context": context}

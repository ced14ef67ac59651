"""Checks the JVMs of a task host: those that do not answer, whose code ignores interrupts, or that are not used."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from runtime.java.errors import HostLostError
from runtime.java.host.host import JavaHost, owners
from runtime.java.host.jvm import JvmStatus, TaskHostJvm
from runtime.java.host.process import JvmEnd
from runtime.system.scheduling import Delay

_log = logging.getLogger(__name__)

INTERVAL = 1.0  # seconds between two checks, and between two questions to a JVM
LEAK_TIMEOUT = 5.0  # seconds after an interrupt until a JVM is replaced, as for slots
MOVE_TIMEOUT = 15.0  # seconds that the other tasks of a JVM have to commit and to end before it is replaced
SILENCE_TIMEOUT = 8.0  # seconds without a response, in which the JVM did not wait for a processor
MAX_SILENCE = 30.0  # seconds without a response at all
IDLE_TIMEOUT = 60.0  # seconds for which a JVM without objects is kept

Move = Callable[["frozenset[int]", str], None]
"""Asks the tasks on these threads to end gracefully and to be placed again, for this reason."""


class HostWatch:
    """Checks every JVM of a host periodically."""

    def __init__(
        self, host: JavaHost, move: Move, max_leaks: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """A JVM is replaced when more than `max_leaks` calls ignore that they were interrupted."""
        self._host, self._move, self._max_leaks, self._clock = host, move, max_leaks, clock
        self._watched: dict[TaskHostJvm, _Watched] = {}

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="java-watch", daemon=True).start()

    @property
    def heap(self) -> int:
        """Bytes of the heap in use, as the JVMs have last reported."""
        return sum(watched.status.heap for watched in list(self._watched.values()) if watched.status is not None)

    def check(self) -> None:
        """One round of checks."""
        running = self._host.jvms
        for jvm in self._watched.keys() - set(running):
            del self._watched[jvm]
        for jvm in running:
            watched = self._watched.get(jvm)
            if watched is None:
                watched = self._watched[jvm] = _Watched(jvm)
                threading.Thread(target=watched.ask, name="java-status", daemon=True).start()
            self._check(watched)

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(INTERVAL):
            try:
                self.check()
            except Exception:  # JVMs that hang later must still be found
                _log.exception("A check of the task host JVM failed")

    def _check(self, watched: _Watched) -> None:
        jvm, now = watched.jvm, self._clock()
        silence = watched.silence(now)
        if silence is not None:
            jvm.end(JvmEnd(f"The task host JVM has not responded for {silence:.0f} s", at_fault=True))
            return
        self._find_leaks(watched, now)
        if watched.replaced_since is not None:
            if not jvm.objects or now - watched.replaced_since > MOVE_TIMEOUT:
                jvm.end(JvmEnd(watched.reason, planned=True))
        elif jvm.objects or now - jvm.used <= IDLE_TIMEOUT:
            watched.idle = False
        elif watched.idle:
            jvm.end(JvmEnd("The task host JVM was not used any more", planned=True))
        else:  # ended by the next check, since an object may be created now
            self._host.retire(jvm)
            watched.idle = True

    def _find_leaks(self, watched: _Watched, now: float) -> None:
        jvm = watched.jvm
        if watched.status is None or watched.replaced_since is not None:
            return
        leaks = jvm.leaks(watched.status, now - LEAK_TIMEOUT)
        if len(leaks) > self._max_leaks:
            watched.reason = (
                "The task host JVM is replaced, because code of a plugin ignores that it was interrupted, and does "
                "not end"
            )
            watched.replaced_since = now
            _log.warning("%s", watched.reason)
            self._host.retire(jvm)
            self._move(owners(jvm.objects), watched.reason)


@dataclass(slots=True, eq=False)
class _Watched:
    jvm: TaskHostJvm
    status: JvmStatus | None = None  # the last response
    reason: str = ""
    replaced_since: float | None = None
    idle: bool = False  # retired because it had no objects
    _asked: float | None = None  # when the status that has not arrived was requested
    _delay: Delay | None = field(default=None)

    def ask(self) -> None:
        """Ask the JVM for its status until it ends."""
        pause = threading.Event()
        try:
            while True:
                self._asked = time.monotonic()
                self.status = self.jvm.status()
                self._asked = None
                pause.wait(INTERVAL)
        except HostLostError:
            self._asked = None

    def silence(self, now: float) -> float | None:
        """The seconds for which the JVM has not answered, if they are too many. The time during which it had to wait
        for a processor does not count, up to a limit."""
        asked = self._asked
        if asked is None or now - asked < SILENCE_TIMEOUT / 2:
            self._delay = None
            return None
        if self._delay is None:
            self._delay = Delay([self.jvm.process.pid])
        silence = now - asked
        return silence if silence - self._delay.look() > SILENCE_TIMEOUT or silence > MAX_SILENCE else None

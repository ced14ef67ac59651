"""Keeps a driver running: restarts it when it ends, and has the archive recorded once."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence

from runtime.engine.protocol.messages import ExecutorsMessage, FromDriver, SlotEndedMessage
from runtime.engine.protocol.remote import RemoteAccess
from runtime.engine.protocol.settings import DriverSettings, EngineSettings
from runtime.engine.worker.driver_process import DriverProcess
from runtime.engine.worker.worker_folder import socket_path
from runtime.model.executor_size import ExecutorSize
from runtime.system.cgroup import Cgroup
from runtime.system.scheduling import Delay, ProcessTree, RunLimit

_log = logging.getLogger(__name__)

_WARNING = re.compile(r"\[[\d.]+s\]\[warning\]|(OpenJDK|Java HotSpot).* VM warning: ")

MAX_PAUSE = 30.0
RECORDING = 300 << 20  # bytes of memory that the processes which record the archive need
MAX_START_FACTOR = 8
"""Factor by which the time for the start of Spark has grown at most, after starts that were too slow."""


class DriverKeeper:
    """The drivers of one worker, one after another. `ended` is called when a driver ends, `line` with the level and
    text of each line that a driver logs; `folder` is the worker's private folder."""

    def __init__(
        self,
        settings: EngineSettings,
        folder: str,
        ended: Callable[[], None],
        line: Callable[[str, str], None],
        report: Callable[[SlotEndedMessage | ExecutorsMessage], None],
        access: RemoteAccess | None = None,
        secret: str = "",
        delay: type[Delay] = Delay,
        group: Cgroup | None = None,
    ) -> None:
        """`report` gets the driver's reports about its slots; `access` and `secret` are for slots on other machines;
        the `delay` of its processes does not count as time for the start of Spark."""
        self._settings = settings
        self._worker_folder = folder
        self._ended = ended
        self._line = line
        self._take, self._access, self._secret = report, access, secret
        self._child: DriverProcess | None = None
        self._recording: DriverProcess | None = None
        self._recorder: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._closing = asyncio.Event()
        self._stale_archive = False  # the last start from the archive failed
        self._archive_missing = False
        self._start_factor, self._delay = 1, delay
        self._group = group or Cgroup()
        self._slots: Sequence[int] = range(settings.slots)
        self._executors: Mapping[int, ExecutorSize] = {}
        self.generation = 0
        self.folder = ""  # of the current driver
        self.trouble = ""
        """Why no task can run: the last words of a driver that could not start Spark; empty once one has."""
        self._last_line = ""

    @property
    def pid(self) -> int | None:
        """The pid of the current driver; None before its start."""
        return self._child.pid if self._child else None

    @property
    def ready(self) -> bool:
        """Whether Spark has started, so that the driver can start slots."""
        return self._ready.is_set()

    async def run(self) -> None:
        """Keep a driver running until close(); then no process remains. Must not be cancelled: a driver needs time to
        end."""
        failures = 0
        while not self._closing.is_set():
            try:
                await self._run_one()
            except OSError as error:
                _log.exception("Spark's driver could not be started")
                self._last_line = str(error)
            failures = 0 if self._ready.is_set() else failures + 1
            if failures:
                self.trouble = f"Spark has not started: {self._last_line or 'see the log'}"
            pause = min(0.5 * 2**failures, MAX_PAUSE) if failures else 0.0
            if not self._closing.is_set():
                _log.error("Spark's driver has ended and is restarted in %g s", pause)
                await _first_of(self._closing, pause)
        if self._recorder is not None:
            await self._recorder

    def request_slots(self, slots: Sequence[int], executors: Mapping[int, ExecutorSize]) -> None:
        """Set the slots that this driver and its successors keep, and the sizes of executors that slots need."""
        if list(slots) != list(self._slots) or executors != self._executors:
            self._slots, self._executors = slots, executors
            if self._child is not None:
                self._child.request_slots(slots, executors)

    def restart_slots(self, slots: Sequence[int]) -> None:
        """Have slots that do not connect started again."""
        if self._child is not None:
            self._child.request_slots(self._slots, self._executors, slots)

    def close(self) -> None:
        """Tell the driver to end; run() returns when it has ended."""
        self._closing.set()
        for child in (self._child, self._recording):
            if child is not None:
                child.leave()

    async def _run_one(self) -> None:
        self.generation += 1
        self._ready.clear()
        self._last_line = ""
        settings = self._driver_settings(record=False)
        self.folder = settings.folder
        child = self._child = DriverProcess(settings, self._report, self._print)
        try:
            await self._run_child(child)
        finally:
            await child.remove_folder()

    async def _run_child(self, child: DriverProcess) -> None:
        await child.start()
        child.request_slots(self._slots, self._executors)  # those of its settings may be old by now
        starting = asyncio.create_task(self._limit_start(child))
        try:
            await child.run()
        finally:
            starting.cancel()
            self._stale_archive = not self._ready.is_set()
            self._ended()  # at once: the deaths of its slots count against no task (DRIVER_GRACE)

    async def _limit_start(self, child: DriverProcess) -> None:
        """Kill a driver that does not start Spark. The next one has more time, since this machine may be too busy in
        ways that no delay shows."""
        assert child.pid
        seconds = self._settings.start_timeout * self._start_factor
        limit = RunLimit(seconds, ProcessTree(child.pid), delay=self._delay)
        while not limit.over():
            if await _first_of(self._ready, limit.pause):
                self._start_factor = 1
                return
        text = "Spark did not start within %g s, not counting time without a processor; its driver is restarted"
        _log.error(text, seconds)
        self._last_line = f"no start within {seconds:g} s"
        self._start_factor = min(self._start_factor * 2, MAX_START_FACTOR)
        child.kill()

    def _driver_settings(self, record: bool) -> DriverSettings:
        settings = self._settings
        return DriverSettings(
            generation=self.generation,
            slots=list(self._slots),
            executors=[(slot, size.memory, size.cores) for slot, size in self._executors.items()],
            master="local[2]" if record else settings.master,
            conf={} if record else dict(settings.spark_conf),
            folder=tempfile.mkdtemp(prefix="driver-", dir=self._worker_folder),
            socket=socket_path(self._worker_folder),
            lease_ttl=settings.lease_ttl,
            runner=settings.runner,
            java_heap=settings.java_heap,
            java_options=list(settings.java_options),
            plugin_path=list(settings.plugin_path),
            file_paths=list(settings.file_paths),
            archive=settings.archive and not self._stale_archive,
            record=record,
            access=None if record else self._access,
            secret="" if record else self._secret,
        )

    def _report(self, report: FromDriver) -> None:
        if report["op"] == "log":
            self._note(report["message"])
            self._line(report["level"], report["message"])
        elif report["op"] == "ready":
            self._ready.set()
            self.trouble = ""
            _log.info("Spark %s started in %g s", report["version"], report["seconds"])
            self._archive_missing = not report["archive"]
        else:
            self._take(report)

    def _print(self, line: str) -> None:
        self._note(line)
        self._line("WARN", line)

    def _note(self, line: str) -> None:
        self._last_line = reason_of(self._last_line, line)

    def record_archive(self) -> None:
        """Record the archive in the background unless it exists, or memory is short; called once the slots are up."""
        wanted = self._archive_missing and self._settings.archive and self._settings.local and self._recorder is None
        free = self._group.memory_free
        if wanted and (free is None or free >= RECORDING):
            self._recorder = asyncio.create_task(self._record())

    async def _record(self) -> None:
        """Whether it succeeds or not, slots run and the worker stops as usual."""
        if self._closing.is_set():
            return
        try:
            settings = self._driver_settings(record=True)
            recording = self._recording = DriverProcess(settings, lambda report: None, lambda line: None)
            try:
                await recording.start()
                await recording.run()
            finally:
                await recording.remove_folder()
        except OSError as error:
            _log.warning("The archive with which Spark starts faster cannot be recorded: %s", error)


def reason_of(before: str, line: str) -> str:
    """Which of two lines of output tells more about the end of a driver: lines of stacks, which are indented, and the
    JVM's own warnings say less than the error before them."""
    if not line or line[0].isspace() or (before and _WARNING.match(line)):
        return before
    return line


async def _first_of(event: asyncio.Event, seconds: float) -> bool:
    """Waits for the event, for so many seconds at most. Returns whether it has occurred."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()

"""Keeps a driver running: starts it, starts another when it ends, has the archive recorded once."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
import time
from collections.abc import Callable
from typing import Any

from runtime.engine.driver_child import DriverChild
from runtime.engine.settings import DriverSettings, EngineSettings

_log = logging.getLogger(__name__)

STEADY = 30.0  # seconds; a driver that ran so long is started again at once when it ends
LONGEST_PAUSE = 30.0


class DriverKeeper:
    """The drivers of one worker, one after another. `ended` hears of each one's end, `line` of what it prints."""

    def __init__(
        self,
        settings: EngineSettings,
        port: int,
        token: str,
        ended: Callable[[], None],
        line: Callable[[str, str], None],
    ) -> None:
        self._settings = settings
        self._port = port
        self._token = token
        self._ended = ended
        self._line = line
        self._child: DriverChild | None = None
        self._recorder: asyncio.Task[int] | None = None
        self._ready = asyncio.Event()
        self._stale_archive = False  # a start from it failed
        self._archive_missing = False
        self.generation = 0
        self.folder = ""  # of the present driver

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child else None

    async def run(self) -> None:
        """Until cancelled; then no process is left."""
        failures = 0
        try:
            while True:
                started = time.monotonic()
                await self._run_one()
                failures = 0 if self._ready.is_set() or time.monotonic() - started > STEADY else failures + 1
                pause = min(0.5 * 2**failures, LONGEST_PAUSE) if failures else 0.0
                _log.error("Spark's driver has ended; another is started in %g s", pause)
                await asyncio.sleep(pause)
        finally:
            await self._stop_recording()

    async def _run_one(self) -> None:
        self.generation += 1
        self._ready.clear()
        settings = self._driver_settings(record=False)
        self.folder = settings.folder
        child = self._child = DriverChild(settings, self._report, self._print)
        watchdog = asyncio.create_task(self._watch_start(child))
        try:
            await child.run()
        finally:
            watchdog.cancel()
            self._stale_archive = not self._ready.is_set()
            self._ended()

    async def _watch_start(self, child: DriverChild) -> None:
        try:
            await asyncio.wait_for(self._ready.wait(), self._settings.driver_start_timeout)
        except TimeoutError:
            _log.error("Spark was not up after %g s", self._settings.driver_start_timeout)
            child.kill()

    def _driver_settings(self, record: bool) -> DriverSettings:
        settings = self._settings
        return DriverSettings(
            generation=self.generation,
            slots=settings.slots,
            master="local[2]" if record else settings.master,
            conf={} if record else dict(settings.spark_conf),
            folder=tempfile.mkdtemp(prefix="headrace-engine-"),
            host="127.0.0.1",
            port=self._port,
            token=self._token,
            lease_ttl=settings.lease_ttl,
            runner=settings.runner,
            archive=settings.archive and not self._stale_archive,
            record=record,
        )

    def _report(self, report: dict[str, Any]) -> None:
        if report["op"] == "log":
            self._line(report["level"], report["message"])
        elif report["op"] == "ready":
            self._ready.set()
            _log.info("Spark %s is up after %g s", report["version"], report["seconds"])
            self._archive_missing = not report["archive"]

    def _print(self, line: str) -> None:
        self._line("WARN", line)

    def record_archive(self) -> None:
        """Once the slots are up: have the archive made, unless there is one, in the background."""
        if self._archive_missing and self._settings.archive and self._settings.local and self._recorder is None:
            child = DriverChild(self._driver_settings(record=True), lambda report: None, lambda line: None)
            self._recorder = asyncio.create_task(child.run())

    async def _stop_recording(self) -> None:
        if self._recorder is not None:
            self._recorder.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._recorder

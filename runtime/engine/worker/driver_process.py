"""The driver process, as a child of the worker: its start, its reports, its end."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from runtime.engine.protocol.messages import FromDriver, SlotsMessage
from runtime.engine.protocol.settings import DriverSettings
from runtime.logs.formats import OutputLines
from runtime.model.executor_size import ExecutorSize
from runtime.system.processes import folder_of_children
from runtime.system.python_process import module_command

Report = Callable[[FromDriver], None]
Line = Callable[[str], None]

END_TIMEOUT = 6.0
_MAX_LINE = 1 << 20  # bytes of a line of output, which may be a report
NOISE = ("WARNING: Using incubator modules",)


class DriverProcess:
    """One driver process, from its start to its end."""

    def __init__(self, settings: DriverSettings, report: Report, line: Line) -> None:
        self._settings = settings
        self._report = report
        self._line = line
        self._process: asyncio.subprocess.Process | None = None
        self._leaving = False

    @property
    def pid(self) -> int | None:
        """The pid of the process; None before its start."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Start the process. OSError if that fails."""
        process = self._process = await asyncio.create_subprocess_exec(
            *module_command("runtime.engine.driver.driver"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            cwd=folder_of_children(),
        )
        assert process.stdin
        process.stdin.write(json.dumps(asdict(self._settings)).encode() + b"\n")
        if self._leaving:
            self.leave()

    async def run(self) -> None:
        """Returns when the process has ended, by itself or because of leave(). No process remains."""
        process = self._process
        assert process and process.stdout and process.stderr
        pumps = [
            asyncio.create_task(_pump(process.stdout, self._handle_report)),
            asyncio.create_task(_pump(process.stderr, self._handle_line)),
        ]
        await process.wait()
        self.kill()  # the JVM, if the driver has died before it
        _, late = await asyncio.wait(pumps, timeout=1)
        for pump in late:
            pump.cancel()

    async def remove_folder(self) -> None:
        """Remove the folder of a process that has ended, or was not started. It may have many files."""
        await asyncio.to_thread(shutil.rmtree, self._settings.folder, ignore_errors=True)

    def request_slots(
        self, slots: Sequence[int], executors: Mapping[int, ExecutorSize], restart: Sequence[int] = ()
    ) -> None:
        """Tell the driver which slots to keep from now on, on executors of which size, and which of them to start
        again."""
        if self._process is not None and self._process.stdin is not None and not self._leaving:
            sizes = [(slot, size.memory, size.cores) for slot, size in executors.items()]
            message: SlotsMessage = {"slots": list(slots), "executors": sizes, "restart": list(restart)}
            self._process.stdin.write(json.dumps(message).encode() + b"\n")

    def leave(self) -> None:
        """Tell the driver to end by closing its standard input; run() returns soon after."""
        self._leaving = True
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            asyncio.get_running_loop().call_later(END_TIMEOUT, self._kill_if_alive)

    def _kill_if_alive(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self.kill()

    def kill(self) -> None:
        """Kill the driver and its JVM."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _handle_report(self, line: str) -> None:
        try:
            self._report(json.loads(line))
        except ValueError:
            self._handle_line(line)

    def _handle_line(self, line: str) -> None:
        if self._leaving:
            return  # the bridge to the JVM logs errors when both end at the same time
        if line.strip() and not line.startswith(NOISE):
            self._line(line)


async def _pump(stream: asyncio.StreamReader, take: Line) -> None:
    """Pass each line to `take`."""
    lines = OutputLines(_MAX_LINE)
    while chunk := await stream.read(65536):
        for line in lines.feed(chunk):
            take(line.rstrip())
    for line in lines.close():
        take(line.rstrip())

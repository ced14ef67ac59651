"""A child process of the worker that runs plugin code: its calls, events, output and exit."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from runtime.host.port import CALL_TIMEOUT, HostError, HostRequestError, UnknownPluginError
from runtime.host.settings import HostSettings
from runtime.logs.formats import OutputLines, Scrub
from runtime.system import frames
from runtime.system.python_process import module_command

_output = logging.getLogger("runtime.host.output")

Event = dict[str, Any]

_OUTPUT_TIMEOUT = 0.5
"""Seconds for reading the remaining output of a process that has ended."""


class ChildDiedError(Exception):
    """The process ended before it answered."""


class Child:
    """A running process. Its calls fail with ChildDiedError when it ends."""

    def __init__(self, process: asyncio.subprocess.Process, on_event: Callable[[Event], None], scrub: Scrub) -> None:
        self._process, self._on_event, self._scrub = process, on_event, scrub
        self._ids = itertools.count()
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._output = asyncio.create_task(self._log_output())
        self.connectors: set[str] = set()
        self.kill_reason: str | None = None

    @classmethod
    async def spawn(cls, settings: HostSettings, on_event: Callable[[Event], None], scrub: Scrub = str) -> Child:
        """Start the process and send its settings; returns before the process is ready."""
        pipe = asyncio.subprocess.PIPE
        command = module_command("runtime.host.server")
        process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
        child = cls(process, on_event, scrub)
        child._send(asdict(settings))
        return child

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    async def call(self, name: str, *args: Any) -> Any:
        """The answer to a call. HostError if the plugin raised, ChildDiedError if the process ended, TimeoutError if a
        Java plugin did not return in time."""
        number = next(self._ids)
        self._pending[number] = asyncio.get_running_loop().create_future()
        try:
            self._send({"id": number, "call": name, "args": args})
            return await self._pending[number]
        finally:
            self._pending.pop(number, None)

    async def run(self) -> str:
        """Receive answers until the process ends; returns the reason of its end."""
        assert self._process.stdout is not None
        try:
            async for message in frames.receive_all(self._process.stdout):
                self._received(message)
        except (ValueError, LookupError, TypeError):  # of a plugin that has found the descriptor
            self.kill("it sent an invalid message")
        code = await self._process.wait()
        await asyncio.wait(
            {self._output}, timeout=_OUTPUT_TIMEOUT
        )  # a process that a plugin started may keep the pipe open
        self._output.cancel()
        reason = self.kill_reason or (f"signal {-code}" if code < 0 else f"exit code {code}")
        for future in self._pending.values():
            if not future.done():
                future.set_exception(ChildDiedError(reason))
        return reason

    def kill(self, reason: str) -> None:
        """End the process at once; `reason` is reported as the reason of its end."""
        if self._process.returncode is None:
            self.kill_reason = self.kill_reason or reason
            self._process.kill()

    def close_input(self) -> None:
        """Close the process's input, so that it stops its connectors and ends."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        if self._process.returncode is not None or self._process.stdin.is_closing():
            raise ChildDiedError("it had ended before the call")
        self._process.stdin.write(frames.encode(message))

    def _received(self, message: dict[str, Any]) -> None:
        if "event" in message:
            self._on_event(message)
            return
        future = self._pending.get(message["id"])
        if future is None or future.done():
            return  # the caller was cancelled
        if "error" in message:
            future.set_exception(_raised(**message["error"]))
        else:
            future.set_result(message["result"])

    async def _log_output(self) -> None:
        """Log what plugins print, line by line."""
        assert self._process.stderr is not None
        lines = OutputLines()
        while chunk := await self._process.stderr.read(65536):
            for line in lines.feed(chunk):
                _output.info("%s", self._scrub(line))
        for line in lines.close():
            _output.info("%s", self._scrub(line))


def _raised(kind: str, message: str, trace: str) -> Exception:
    if kind == "unknown_plugin":
        return UnknownPluginError(message)
    if kind == CALL_TIMEOUT:
        return TimeoutError(message)
    return HostRequestError(message) if kind == "request" else HostError(kind, message, trace)

"""Starts, observes, kills and stops the child process."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from types import TracebackType
from typing import TextIO

from runtime.model.task_spec import TaskSpec
from runtime.plugin_kit.conformance.outcome import CheckFailed

_PATIENCE = 30.0  # seconds without progress, for the start and for the end of the process
_NO_PROGRESS = 4.0  # seconds after which a source makes no progress, if it has been polled meanwhile:
_IDLE_POLLS = 30  # without this, a machine under load would look like a fault of the plugin


class NoProgress(CheckFailed):
    """The task is running, but nothing happens."""


class TaskProcess:
    """A task in a process of its own."""

    def __init__(self, spec: TaskSpec, records: int) -> None:
        command = [sys.executable, "-c", "from runtime.plugin_kit.killed.child import main; main()"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.PIPE, text=True)
        self._lines: list[str] = []
        self._errors: list[str] = []
        for stream, lines in ((self._process.stdout, self._lines), (self._process.stderr, self._errors)):
            assert stream is not None
            threading.Thread(target=_collect, args=(stream, lines), name="child-output", daemon=True).start()
        assert self._process.stdin is not None
        request = {"spec": asdict(spec), "records": records, "path": sys.path}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()

    @property
    def running(self) -> bool:
        """Whether the task has started."""
        return "RUNNING" in self._lines

    @property
    def put(self) -> int:
        """The number of records that the task has put."""
        return self._count("PUT")

    def _count(self, what: str) -> int:
        """The last number that the task has reported."""
        counts = [line.split()[1] for line in self._lines if line.startswith(f"{what} ")]
        return int(counts[-1]) if counts else 0

    def wait(self, done: Callable[[], bool], progress: Callable[[], object], what: str) -> None:
        """Waits until `done`. CheckFailed if the task ends before, or NoProgress if it does nothing more."""
        seen, since, polls = progress(), time.monotonic(), self._count("POLLS")
        while not done():
            if self._process.poll() is not None:
                raise CheckFailed(f"The task ended before {what}: {self._reason()}", "See the error")
            if (now := progress()) != seen:
                seen, since, polls = now, time.monotonic(), self._count("POLLS")
            elif time.monotonic() - since > (_NO_PROGRESS if self._count("POLLS") - polls > _IDLE_POLLS else _PATIENCE):
                raise NoProgress(f"The task makes no progress before {what}{self._logged()}", "See its log")
            time.sleep(0.005)

    def kill(self) -> None:
        """SIGKILL: the task notices nothing."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> float:
        """SIGTERM: the task stops gracefully. Returns the seconds until the process has ended."""
        began = time.monotonic()
        self._process.terminate()
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            raise CheckFailed(f"The task did not stop within {_PATIENCE:.0f} s{self._logged()}") from None
        if code != 0:
            raise CheckFailed(f"The task failed when it was stopped: {self._reason()}", "See the error")
        return time.monotonic() - began

    def _reason(self) -> str:
        self._process.wait(1.0)
        time.sleep(0.05)  # the last lines
        failed = [line for line in self._lines if line.startswith("FAILED ")]
        if failed:
            trace: str = json.loads(failed[-1][7:])
            return trace.strip()
        return f"exit code {self._process.returncode}{self._logged()}"

    def _logged(self) -> str:
        return "".join(f"\n{line}" for line in self._errors[-20:])

    def __enter__(self) -> TaskProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


def _collect(stream: TextIO, lines: list[str]) -> None:
    with suppress(ValueError):  # closed after a kill
        lines.extend(line.rstrip("\n") for line in stream)

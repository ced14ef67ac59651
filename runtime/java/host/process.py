"""The process of a task host JVM."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.java.errors import HostLostError
from runtime.system.processes import die_with_parent

_log = logging.getLogger(__name__)

_LINES = 20  # of the output, for the message when the JVM ends
_BACKLOG = 128


@dataclass(frozen=True, slots=True)
class JvmSettings:
    """How to start a task host: the Java program, the jars (glue first), the heap in MB, more options for the JVM, and
    the file with the slot's lease (see engine/protocol/lease_cell.py), without which there is no lease."""

    java: Path
    classpath: Sequence[Path]
    heap_mb: int = 256
    options: Sequence[str] = ()
    lease: Path | None = None

    def command(self) -> list[str]:
        """The command line. C1 only: it needs a third of the memory, and records cost more on our side anyway."""
        return [
            str(self.java),
            f"-Xmx{self.heap_mb}m",
            *("-Xms16m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:+ExitOnOutOfMemoryError"),
            *("-Djdk.nio.maxCachedBufferSize=262144", "-Djava.awt.headless=true", *self.options),
            *("-cp", os.pathsep.join(map(str, self.classpath)), "headrace.Main"),
            str(self.lease or ""),
        ]


class HostProcess:
    """A running JVM. It ends with this process, also if this process is killed."""

    def __init__(self, settings: JvmSettings) -> None:
        """Starts the JVM; returns at once. HostLostError if it cannot be started."""
        self._folder = tempfile.mkdtemp(prefix="headrace-java-")
        self._path = str(Path(self._folder, "link"))
        self._output: deque[str] = deque(maxlen=_LINES)
        self._started = threading.Event()
        self._failed: OSError | None = None
        self._process: subprocess.Popen[str] | None = None
        self.ended = threading.Event()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(self._path)
            listener.listen(_BACKLOG)
            threading.Thread(target=self._run, args=(settings, listener), name="java-host", daemon=True).start()
            self._started.wait()
        finally:
            listener.close()
        if self._failed is not None:
            raise HostLostError(f"The task host could not be started: {self._failed}") from self._failed

    @property
    def pid(self) -> int:
        """The process id of the JVM."""
        assert self._process is not None
        return self._process.pid

    def connect(self) -> socket.socket:
        """Another connection. HostLostError if the JVM has ended."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(self._path)
        except OSError as error:
            connection.close()
            raise HostLostError(self.reason()) from error
        return connection

    def kill(self) -> None:
        """Send SIGKILL."""
        assert self._process is not None
        self._process.kill()

    def reason(self) -> str:
        """Why the JVM has ended, with the last lines of its output."""
        self.ended.wait(2.0)
        code = self._process.poll() if self._process is not None else None
        last = "; ".join(self._output)
        return f"The task host JVM has ended{_meaning(code)}" + (f": {last}" if last else "")

    def _run(self, settings: JvmSettings, listener: socket.socket) -> None:
        """The thread that starts the JVM lives as long as the JVM: Linux kills a child when the thread ends that has
        started it."""
        try:
            process = self._process = subprocess.Popen(
                settings.command(), stdin=listener.fileno(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace", preexec_fn=die_with_parent(signal.SIGKILL), cwd=self._folder,
            )  # fmt: skip
        except OSError as error:
            self._failed = error
            self._started.set()
            shutil.rmtree(self._folder, ignore_errors=True)
            return
        self._started.set()
        for line in process.stdout or ():
            self._output.append(line.strip())
            _log.info("%s", line.rstrip())
        process.wait()
        self.ended.set()
        shutil.rmtree(self._folder, ignore_errors=True)


def _meaning(code: int | None) -> str:
    if code is None:
        return ""
    return f" by {signal.Signals(-code).name}" if code < 0 else f" with code {code}"

"""The process of a task host JVM."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runtime.java.errors import HostLostError
from runtime.java.host.class_names import ClassNames
from runtime.java.jvm.java import SHARED_PAGES, temporary_folder
from runtime.system.process_folder import make_folder
from runtime.system.processes import die_with_parent

_log = logging.getLogger(__name__)

_LINES = 20  # of the output, for the message when the JVM ends
_LINE = 1000  # characters; a longer line of the output becomes several
_SOCKET = "link"
_BACKLOG = 128
_LEASE_PASSED = 70  # exit code; see Lease.java
_OUT_OF_MEMORY, _NO_THREAD = "OutOfMemoryError", "unable to create native thread"  # Java has one error for both
_COLLECTOR = re.compile(r"-XX:\+Use\w*GC")  # the JVM accepts only one
_READ_TIMEOUT = 0.5  # seconds for the last lines of the output
_FIRST_HEAP, _YOUNG = 24, 12  # MB, unless the heap is smaller: the initial heap, and its part for new objects


@dataclass(frozen=True, slots=True)
class JvmSettings:
    """How to start a task host: the Java program, the jars (glue first), the heap in MB, more options for the JVM, and
    the file with the slot's lease (see engine/protocol/lease_cell.py), without which there is no lease."""

    java: Path
    classpath: Sequence[Path]
    heap_mb: int = 256
    options: Sequence[str] = ()
    lease: Path | None = None
    names: ClassNames = field(default_factory=ClassNames)
    archive: Path | None = None  # see archive.py

    def command(self) -> list[str]:
        """The command line."""
        return [
            str(self.java),
            f"-Xmx{self.heap_mb}m",
            *(() if any(map(_COLLECTOR.fullmatch, self.options)) else ("-XX:+UseSerialGC",)),
            *(f"-Xms{min(_FIRST_HEAP, self.heap_mb)}m", f"-XX:NewSize={min(_YOUNG, self.heap_mb // 3)}m"),
            *("-Xshare:auto", *SHARED_PAGES, "-XX:+ExitOnOutOfMemoryError"),
            *((f"-XX:SharedArchiveFile={self.archive}", "-Xlog:cds=off") if self.archive else ()),
            *("-Djdk.nio.maxCachedBufferSize=262144", "-Djava.awt.headless=true", temporary_folder()),
            *self.options,
            *("-cp", os.pathsep.join(map(str, self.classpath)), "headrace.Main"),
            str(self.lease or ""),
        ]


@dataclass(frozen=True, slots=True)
class JvmEnd:
    """Why a JVM has ended. `at_fault`: its code has ended it, or has made it unusable. `planned`: it was not needed any
    more, or was replaced."""

    reason: str
    at_fault: bool = False
    planned: bool = False


class HostProcess:
    """A running JVM. It ends with this process, also if this process is killed."""

    def __init__(self, settings: JvmSettings, on_end: Callable[[], None] = lambda: None) -> None:
        """Starts the JVM; returns at once. HostLostError if it cannot be started. `on_end` is called when it has ended,
        on another thread, before any call of a plugin fails because of that."""
        self._folder = make_folder(_SOCKET)
        self._path = str(Path(self._folder, _SOCKET))
        self._on_end = on_end
        self._output: deque[str] = deque(maxlen=_LINES)
        self._started = threading.Event()
        self._failed: Exception | None = None
        self._process: subprocess.Popen[str] | None = None
        self._end: JvmEnd | None = None
        self.ended = threading.Event()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(self._path)
            listener.listen(_BACKLOG)
            threading.Thread(target=self._run, args=(settings, listener), name="java-host", daemon=True).start()
            self._started.wait()
        except RuntimeError as error:  # no further thread can be started
            self._failed = error
        finally:
            listener.close()
        if self._failed is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
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

    def kill(self, end: JvmEnd | None = None) -> None:
        """Send SIGKILL. `end` explains it."""
        assert self._process is not None
        self._end = self._end or end
        self._process.kill()

    def reason(self) -> str:
        """Why the JVM has ended, with the last lines of its output."""
        self.ended.wait(2.0)
        return self.end.reason

    @property
    def end(self) -> JvmEnd:
        """Why the JVM has ended, or is about to end."""
        if self._end is not None:
            return self._end
        code = self._process.poll() if self._process is not None else None
        last = "; ".join(self._output)
        reason = f"The task host JVM has ended{_meaning(code)}" + (f": {last}" if last else "")
        if _OUT_OF_MEMORY in last and _NO_THREAD not in last:
            reason += ". Raise headrace.java.heap.mb, or use fewer or smaller tasks"
        killed = code is None or code in (-signal.SIGKILL, -signal.SIGTERM, _LEASE_PASSED)
        return JvmEnd(reason, at_fault=not killed)

    def _run(self, settings: JvmSettings, listener: socket.socket) -> None:
        """The thread that starts the JVM lives as long as the JVM: Linux kills a child when the thread ends that has
        started it."""
        try:
            process = self._process = subprocess.Popen(
                settings.command(), stdin=listener.fileno(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace", preexec_fn=die_with_parent(signal.SIGKILL), cwd=self._folder,
                process_group=0,  # Ctrl-C in the terminal is for the worker, which stops the plugins
            )  # fmt: skip
            reader = threading.Thread(target=self._read, args=(process,), name="java-output", daemon=True)
            reader.start()
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            if self._process is not None:
                self._process.kill()
            self._failed = error
            return
        finally:
            self._started.set()
        process.wait()
        reader.join(_READ_TIMEOUT)  # a process that a plugin has started may keep the output open
        try:
            self._on_end()
        except Exception:  # the calls that wait for the end must be released
            _log.exception("The end of a task host could not be reported")
        self.ended.set()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        while line := process.stdout.readline(_LINE):
            self._output.append(line.strip())
            _log.info("%s", line.rstrip())


def _meaning(code: int | None) -> str:
    if code is None:
        return ""
    return f" by {signal.Signals(-code).name}" if code < 0 else f" with code {code}"

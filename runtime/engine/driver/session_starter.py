"""Starts the process of the Spark session when a task connects to it, and again after its end.

The driver keeps the socket on which tasks connect: connections wait while a process starts, and nobody has to be told
that the next one is another process.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from runtime.engine.driver.local_folders import LocalFolders
from runtime.engine.protocol.lease import DUMP_SIGNAL
from runtime.engine.protocol.settings import DriverSettings
from runtime.system import frames
from runtime.system.processes import die_with_parent, folder_of_children
from runtime.system.python_process import module_command
from runtime.system.scheduling import ProcessTree, RunLimit

SERVING = "serving"
"""The file in the folder of a process that tells that it has started, and by its time that it still works."""

HEARTBEAT = 2.0
"""Seconds between two changes of that file's time."""

_FOLDER = "session"
_ATTEMPTS = 3
"""Starts in a row that fail before the requests that wait do: the process is the first that the system kills if memory
is short."""

_START_LIMIT = 90.0  # seconds for a start, twice the time after each that failed
_MAX_DOUBLINGS = 3
_SILENCE = 60.0  # seconds without a heartbeat after which a process is ended; collections of large heaps are shorter
_DUMP_TIME = 1.0  # seconds to write its stacks
_PAUSE, _MAX_PAUSE = 1.0, 10.0  # seconds between two starts
_REFUSAL = 1.0  # seconds for the request of a connection that is refused
_BACKLOG = 128


def listen(path: Path, link: Path) -> socket.socket:
    """A socket at `path`, to which `link` leads from now on."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    path.chmod(0o600)
    listener.listen(_BACKLOG)
    made = path.with_suffix(".link")
    made.symlink_to(path)
    made.replace(link)
    return listener


class SessionStarter:
    """The processes of the session of one driver, one after another."""

    def __init__(
        self, settings: DriverSettings, conf: Mapping[str, str], listener: socket.socket,
        log: Callable[[str, str], None], start_limit: float = _START_LIMIT, pause: float = _PAUSE,
        silence: float = _SILENCE,
    ) -> None:  # fmt: skip
        """`conf`: the properties of Spark. `log` gets the level and the text of messages. `start_limit`: seconds after
        which a process that does not serve tasks yet is ended. `pause`: seconds after the first failed start.
        `silence`: seconds after which a process without a heartbeat is ended."""
        self._folder = Path(settings.folder, _FOLDER)
        self._local = LocalFolders(conf, str(Path(settings.folder).parent))
        self._settings = replace(settings, conf=self._local.conf, secret="")
        self._listener, self._log, self._start_limit, self._pause = listener, log, start_limit, pause
        self._silence = silence

    def start(self) -> None:
        """Wait for connections in a thread, whose end would be that of the process."""
        threading.Thread(target=self._run, name="session", daemon=True).start()

    def _run(self) -> None:
        failures = 0
        while True:
            select.select([self._listener], (), ())
            try:
                code, has_served = self._run_one(self._start_limit * 2 ** min(failures, _MAX_DOUBLINGS))
                reason = f"The Spark session of connectors could not be started (exit code {code})"
            except (OSError, RuntimeError) as error:  # no folder, no process, or no thread
                code, has_served = 1, False
                reason = f"The Spark session of connectors could not be started ({error})"
            failures = 0 if has_served else failures + 1
            if failures:
                self._log("ERROR", reason)
                if failures >= _ATTEMPTS:
                    self._refuse_waiting(f"{reason}: see the worker's log")
                time.sleep(min(self._pause * 2 ** (failures - 1), _MAX_PAUSE))
            elif code:
                ended = f"The Spark session of connectors has ended with exit code {code}"
                self._log("ERROR", f"{ended}; the next request of a connector starts it again")

    def _run_one(self, start_limit: float) -> tuple[int, bool]:
        """Run a process to its end: its exit code, and whether it has served tasks, within `start_limit` seconds."""
        self.remove_files()  # those of a driver that was killed
        self._folder.mkdir(mode=0o700, exist_ok=True)
        settings = json.dumps({**asdict(self._settings), "folder": str(self._folder)})
        descriptor = self._listener.fileno()
        arguments = [str(descriptor), self._settings.folder, str(os.getppid())]
        process = subprocess.Popen(
            module_command("runtime.engine.driver.session_process", *arguments), stdin=subprocess.PIPE,
            pass_fds=[descriptor], preexec_fn=die_with_parent(signal.SIGKILL), cwd=folder_of_children(),
        )  # fmt: skip
        with process:
            assert process.stdin is not None
            with contextlib.suppress(OSError):  # it has ended
                process.stdin.write(settings.encode() + b"\n")
                process.stdin.flush()
            ended = threading.Event()
            threading.Thread(target=_set_at_end, args=(ended, process), name="session-end", daemon=True).start()
            if self._await_start(process, start_limit, ended):
                self._watch(process, ended)
            code = process.wait()
        has_served = self._has_served()
        self.remove_files()
        return code, has_served

    def remove_files(self) -> None:
        """Remove what a process has left."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._local.remove()

    def _has_served(self) -> bool:
        return Path(self._folder, SERVING).exists()

    def _await_start(self, process: subprocess.Popen[bytes], seconds: float, ended: threading.Event) -> bool:
        """Wait until the process serves tasks or has ended. It is killed if neither happens in time. Whether it serves
        tasks."""
        limit = RunLimit(seconds, ProcessTree(process.pid))
        while not self._has_served():
            if ended.wait(limit.pause):
                return False
            if limit.over():
                self._log("ERROR", f"The Spark session of connectors has not started within {seconds:g} s")
                process.kill()  # its JVM ends with it
                return False
        return True

    def _watch(self, process: subprocess.Popen[bytes], ended: threading.Event) -> None:
        """Wait for the end of the process. It is killed if it, or its JVM, no longer works."""
        limit = RunLimit(self._silence, ProcessTree(process.pid))
        heartbeat = self._last_heartbeat()
        while not ended.wait(limit.pause):
            if (latest := self._last_heartbeat()) != heartbeat:
                heartbeat, limit = latest, RunLimit(self._silence, ProcessTree(process.pid))
            elif limit.over():
                self._log("ERROR", f"The Spark session of connectors has not responded for {self._silence:g} s")
                process.send_signal(DUMP_SIGNAL)
                ended.wait(_DUMP_TIME)
                process.kill()
                return

    def _last_heartbeat(self) -> int:
        with contextlib.suppress(FileNotFoundError):  # it ends, and its folder has been removed
            return Path(self._folder, SERVING).stat().st_mtime_ns
        return 0

    def _refuse_waiting(self, reason: str) -> None:
        """Respond to the requests of waiting connections with an error, which tasks count and show."""
        while select.select([self._listener], (), (), 0)[0]:
            connection, _ = self._listener.accept()
            connection.settimeout(_REFUSAL)
            with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError, frames.FrameError):
                frames.read(stream)
                connection.sendall(frames.encode({"error": reason, "kind": "other", "closes": True}))


def _set_at_end(ended: threading.Event, process: subprocess.Popen[bytes]) -> None:
    process.wait()  # with a limit it would look twenty times a second
    ended.set()

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

from runtime.engine.protocol.settings import DriverSettings
from runtime.system import frames
from runtime.system.processes import die_with_parent, folder_of_children
from runtime.system.python_process import module_command
from runtime.system.scheduling import ProcessTree, RunLimit

SERVING = "serving"
"""The file in the folder of a process that tells that it has started."""

_FOLDER = "session"
_LOCAL = "spark.local.dir"
_ATTEMPTS = 3
"""Starts in a row that fail before the requests that wait do: the process is the first that the system kills if memory
is short."""

_START_LIMIT = 90.0  # seconds for a start, twice the time after each that failed
_MAX_DOUBLINGS = 3
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
        log: Callable[[str, str], None], start_limit: float = _START_LIMIT,
        pause: float = _PAUSE,
    ) -> None:  # fmt: skip
        """`conf`: the properties of Spark. `log` gets the level and the text of messages. `start_limit`: seconds after
        which a process that does not serve tasks yet is ended. `pause`: seconds after the first failed start."""
        own = Path(settings.folder).parent.name
        folders = (Path(folder.strip(), own) for folder in conf.get(_LOCAL, "").split(",") if folder.strip())
        self._folder, self._scratch = Path(settings.folder, _FOLDER), tuple(folders)
        scratch = {_LOCAL: ",".join(map(str, self._scratch))} if self._scratch else {}
        self._settings = replace(settings, conf={**conf, **scratch}, secret="")
        self._listener, self._log, self._start_limit, self._pause = listener, log, start_limit, pause

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
            except OSError as error:  # no folder, or no process
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
            self._await_start(process, start_limit)
            code = process.wait()
        has_served = self._has_served()
        self.remove_files()
        return code, has_served

    def remove_files(self) -> None:
        """Remove what a process has left, also in the folders of spark.local.dir, where a JVM that is killed leaves all
        its blocks."""
        for folder in (self._folder, *self._scratch):
            shutil.rmtree(folder, ignore_errors=True)

    def _has_served(self) -> bool:
        return Path(self._folder, SERVING).exists()

    def _await_start(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        """Wait until the process serves tasks or has ended. It is killed if neither happens in time."""
        limit = RunLimit(seconds, ProcessTree(process.pid))
        while not self._has_served():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(limit.pause)
                return
            if limit.over():
                self._log("ERROR", f"The Spark session of connectors has not started within {seconds:g} s")
                process.kill()  # its JVM ends with it
                return

    def _refuse_waiting(self, reason: str) -> None:
        """Respond to the requests of waiting connections with an error, which tasks count and show."""
        while select.select([self._listener], (), (), 0)[0]:
            connection, _ = self._listener.accept()
            connection.settimeout(_REFUSAL)
            with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError, frames.FrameError):
                frames.read(stream)
                connection.sendall(frames.encode({"error": reason, "kind": "other", "closes": True}))

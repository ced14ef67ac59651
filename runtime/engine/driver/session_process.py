"""The process of the Spark session of connectors on this machine: a child of the driver with a JVM of its own.

It starts with the first request of a Spark connector and ends when none has been connected for a while. Its JVM is one
that computes, and neither its memory nor its end is that of the slots. Arguments: the descriptor of the socket on which
tasks connect, the folder of their rows, the pid of the worker; the settings are a line of standard input.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from runtime.engine.driver.archive import archive_path, use_options
from runtime.engine.driver.cluster import refuse_accumulators
from runtime.engine.driver.jvm import SESSION_JAVA_OPTIONS, find_java
from runtime.engine.driver.session.operations import SessionOperations
from runtime.engine.driver.session.record_query.service import RecordQueries
from runtime.engine.driver.session.server import SessionServer
from runtime.engine.driver.session.source.streams import SourceStreams
from runtime.engine.driver.session.spark_session import SharedSession
from runtime.engine.driver.session_starter import HEARTBEAT, SERVING
from runtime.engine.driver.spark_start import start_spark
from runtime.engine.protocol.lease import DUMP_SIGNAL
from runtime.engine.protocol.settings import DriverSettings
from runtime.system.allowed_folders import limit_files
from runtime.system.cgroup import end_first

IDLE_END = 300.0
"""Seconds without a connection after which the process ends."""

_THREADS = 4  # requests of Spark connectors that run at the same time
_JVM_END = 3.0  # seconds for Spark's own shutdown


def serve_session(
    context: Any, listener: socket.socket, folder: str, worker: int, idle_end: float | None = None
) -> SessionServer:
    """Serve the tasks that connect. `folder` has the files of their rows; `worker` is the pid of their worker; after
    `idle_end` seconds without a connection the server is idle."""
    session, rows = SharedSession(context), Path(folder)
    streams = SourceStreams(session, rows, _THREADS)
    operations = SessionOperations(session, streams, RecordQueries(session, rows))
    server = SessionServer(listener, worker, rows, operations, _THREADS, idle_end=idle_end)
    server.start()
    return server


def run(settings: DriverSettings, listener: socket.socket, rows: str, worker: int) -> None:
    """Start Spark and serve tasks. Does not return: the process ends with its JVM, or when no task is connected."""
    java = find_java()
    assert java is not None, "the driver runs with it"
    gateways: list[Any] = []
    options = (*SESSION_JAVA_OPTIONS, *(use_options(archive_path()) if settings.archive else ()))
    context = start_spark(
        java, settings.conf, settings.session_master, Path(settings.folder), Path(settings.socket).parent, options,
        gateways.append, slots=False,
    )  # fmt: skip
    refuse_accumulators(context)
    server = serve_session(context, listener, rows, worker, IDLE_END)
    clock = gateways[0].jvm.java.lang.System
    beating = Path(settings.folder, SERVING)
    beating.touch()
    beat = partial(_beat, server, gateways[0].proc, clock, beating)
    threading.Thread(target=beat, name="heartbeat", daemon=True).start()
    threading.Thread(target=_leave_when_idle, args=(server, gateways[0]), name="idle", daemon=True).start()
    code = gateways[0].proc.wait()
    os._exit(0 if server.idle.is_set() else code or 1)


def _beat(server: SessionServer, jvm: subprocess.Popen[bytes], clock: Any, file: Path) -> None:
    """Tell the driver that the server of tasks, the interpreter and the JVM work, until the JVM has ended."""
    from py4j.protocol import Py4JError

    while jvm.poll() is None:
        with contextlib.suppress(Py4JError, OSError):
            server.wait_for_lock()
            clock.nanoTime()
            os.utime(file)
        time.sleep(HEARTBEAT)


def _leave_when_idle(server: SessionServer, gateway: Any) -> None:
    server.idle.wait()
    gateway.proc.stdin.close()  # the JVM ends
    with contextlib.suppress(subprocess.TimeoutExpired):
        gateway.proc.wait(_JVM_END)
    gateway.proc.kill()


def main() -> None:
    """Run the process of the session."""
    faulthandler.enable()
    faulthandler.register(DUMP_SIGNAL)
    signal.signal(signal.SIGTERM, lambda *_: None)  # the driver ends its process group, the JVM first
    descriptor, rows, worker = sys.argv[1:]
    settings = DriverSettings.from_json(json.loads(sys.stdin.buffer.readline()))
    limit_files(settings.file_paths)
    end_first()
    try:
        run(settings, socket.socket(fileno=int(descriptor)), rows, int(worker))
    except OSError as error:  # the JVM has told why
        sys.exit(f"The Spark session has not started: {error}")


if __name__ == "__main__":
    main()

"""The class-data-sharing archive of the task host JVM, which halves its start time.

The first start does not wait for it: it is recorded in the background, by a JVM that does what tasks do. A JVM ignores
an archive that does not match its jars.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

from runtime.api.data.record import SinkRecord
from runtime.api.data.schema import STRING_SCHEMA
from runtime.api.errors import ConnectError
from runtime.java.host.class_names import ClassNames
from runtime.java.host.jvm import JavaClass, TaskHostJvm
from runtime.java.host.process import JvmEnd, JvmSettings
from runtime.java.wire.records import write_sink
from runtime.java.wire.writer import FrameWriter
from runtime.system.process_folder import work_folder

_log = logging.getLogger(__name__)

_KAFKA = "org.apache.kafka.connect."
_KEPT = 3  # archives in the cache
_EXIT = 60.0  # seconds in which the JVM writes its archive
_LOWEST = 19
_RECORDED = JvmEnd("The class archive has been recorded", planned=True)

_recording = threading.Lock()


def with_archive(settings: JvmSettings, folder: Path) -> JvmSettings:
    """The settings with the archive in this folder. If there is none, it is recorded in the background."""
    path = folder / f"classes-{_key(settings)}.jsa"
    if path.is_file():
        return replace(settings, archive=path)
    if _recording.acquire(blocking=False):  # released by the thread
        threading.Thread(target=_record_once, args=(settings, path), name="java-archive", daemon=True).start()
    return settings


def _key(settings: JvmSettings) -> str:
    """Changes with Java and with the jars, whose names have their versions."""
    java = settings.java.resolve().stat()
    parts = [str(settings.java.resolve()), java.st_size, java.st_mtime_ns, *map(str, settings.classpath)]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _record_once(settings: JvmSettings, path: Path) -> None:
    try:
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: another process records
            if not path.is_file():
                record(settings, path)
    except (OSError, ConnectError) as error:
        _log.debug("The class archive of the task host was not recorded: %s", error)
    finally:
        _recording.release()


def record(settings: JvmSettings, path: Path) -> None:
    """Record the archive. OSError or HostLostError if that fails."""
    with work_folder(path.parent) as work:
        draft = work / path.name
        options = [*settings.options, f"-XX:ArchiveClassesAtExit={draft}"]
        jvm = TaskHostJvm(
            replace(settings, options=options, lease=None, archive=None, names=ClassNames()), {}, lambda ended: None
        )
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, jvm.process.pid, _LOWEST)
        try:
            _rehearse(jvm, work)
            jvm.exit(_EXIT)
        finally:
            jvm.end(_RECORDED)
        draft.replace(path)
    newest = sorted(path.parent.glob("classes-*.jsa"), key=lambda file: file.stat().st_mtime, reverse=True)
    for old in newest[_KEPT:]:
        old.unlink(missing_ok=True)


def _rehearse(jvm: TaskHostJvm, work: Path) -> None:
    """Lets the JVM load the classes that tasks need: sources and sinks of lines, converters and transformations."""

    def create(kind: str, name: str) -> Any:
        return jvm.create(kind, JavaClass(f"{_KAFKA}{name}"), "rehearsal", lambda call, argument: [None])

    lines, written = work / "in.txt", work / "out.txt"
    lines.write_text("line\n" * 10)
    record = SinkRecord("t", 0, STRING_SCHEMA, "k", STRING_SCHEMA, "v", 0, 0, 0, [("h", STRING_SCHEMA, "x")])

    def write(frame: FrameWriter) -> None:
        write_sink(frame, [record])

    source = create("source_task", "file.FileStreamSourceTask")
    source.call("start", {"file": str(lines), "topic": "t"}, False)
    source.call("poll")
    source.call("commit")
    source.call("stop")
    sink = create("sink_task", "file.FileStreamSinkTask")
    sink.call("start", {"file": str(written)}, False)
    sink.call("open", [["t", 0]])
    sink.call("put", 0, batch=write)
    sink.call("pre_commit", [["t", 0, 1]])
    sink.call("close", [["t", 0]])
    sink.call("stop")
    converter = create("converter", "json.JsonConverter")
    converter.call("configure", {}, False)
    converter.call("to_connect", "t", None, 1, batch=lambda frame: frame.column([b'{"schema":null,"payload":{"a":1}}']))
    step = create("transformation", "transforms.HoistField$Value")
    step.call("configure", {"field": "f"})
    step.call("run", True, [[step.link.number, 0, False]], True, batch=write)
    connector = create("connector", "file.FileStreamSourceConnector")
    connector.call("validate", {"file": str(lines), "topic": "t"})
    connector.call("definition")
    for made in (source, sink, converter, step, connector):
        made.close()

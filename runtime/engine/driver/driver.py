"""The driver: a child of the worker that starts Spark and keeps one Spark job running for each slot.

The only module that imports pyspark (except Spark's Python daemon). The first line of standard input holds the
settings, each further line the slots to keep; end of file means that the worker wants the driver to end, or has died.
Reports are written to standard output as lines of JSON. The driver leads its own process group, so that signals
of the terminal reach neither the driver nor its JVM.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from runtime.connectors.spark.session_client import ROWS, SOCKET
from runtime.engine.driver.archive import archive_path, keep, record_options, use_options
from runtime.engine.driver.class_path import PACKAGES, with_packages
from runtime.engine.driver.cluster import (
    ClusterJobs,
    ExecutorWatch,
    group_of,
    is_first_run,
    refuse_accumulators,
    run_to_end,
)
from runtime.engine.driver.daemon import PRELOAD
from runtime.engine.driver.executor_profiles import executor_sizes
from runtime.engine.driver.guard import Guard
from runtime.engine.driver.jvm import SLOTS_JAVA_OPTIONS, environment, find_java
from runtime.engine.driver.local_folders import LocalFolders
from runtime.engine.driver.session.spark_errors import has_lost_jvm
from runtime.engine.driver.session_process import serve_session
from runtime.engine.driver.session_starter import SessionStarter, listen
from runtime.engine.driver.spark_start import start_spark
from runtime.engine.protocol.messages import FromDriver, SlotsMessage
from runtime.engine.protocol.settings import DriverSettings, SlotSettings, session_link, session_socket
from runtime.engine.slot.slot import serve
from runtime.java.install.errors import InstallError
from runtime.java.jvm.errors import JarsError, JavaError
from runtime.model.executor_size import ANY_SIZE
from runtime.system.allowed_folders import limit_files
from runtime.system.cgroup import BEFORE_ALL, end_first

JVM_END = 3.0  # seconds for Spark's own shutdown
SHORT_LIFE = 5.0  # seconds; a slot that ends sooner is started again only after a pause
MAX_PAUSE = 10.0
MAX_REASON = 8000
DIED, CANCELLED = "Python worker exited unexpectedly", "cancelled part of cancelled job group"  # in Spark's errors
NO_JAVA = (
    "Java was not found. Spark needs Java 17 or newer: install it (Debian: openjdk-17-jre-headless) or set JAVA_HOME"
)


class Driver:
    """Owns the JVM. Every exit goes through leave()."""

    def __init__(self, settings: DriverSettings) -> None:
        self._settings = settings
        self._worker = os.getppid()
        self._started = time.monotonic()
        self._reports = os.fdopen(os.dup(1), "w", buffering=1)
        os.dup2(2, 1)  # other output of this process is logged
        self._lock = threading.Lock()
        self._gateway: Any = None
        self._context: Any = None
        self._conf: dict[str, str] = {}  # the operator's properties, with the jars of packages
        self._cluster: ClusterJobs | None = None  # None in local mode
        self._session: SessionStarter | None = None  # only in local mode
        self._local: LocalFolders | None = None  # of the slots' JVM, only in local mode
        self._slots = threading.Lock()  # guards the next three attributes
        self._wanted = set(settings.slots)
        self._executors = executor_sizes(settings.executors)
        self._kept: set[int] = set()  # slots with a thread
        self._attempts: Counter[int] = Counter()  # jobs of each slot so far, each counted by its thread
        self._guard = Guard(settings.folder)

    def run(self) -> None:
        """Start Spark and keep the slots. Never returns: the process ends with leave()."""
        threading.Thread(target=self._watch_worker, daemon=True).start()
        if self._settings.local:
            self._guard.start()
        context = self._start_spark()
        self._report_ready(context.version)
        if self._settings.record:
            self._record(context)
        refuse_accumulators(context)
        self._serve_session(context)
        if not self._settings.local:
            self._cluster = ClusterJobs(context, self._settings)
            ExecutorWatch(context, self._kept_slots, self._report, self._leave_application).start()
        self._context = context
        self._start_keepers()
        self._gateway.proc.wait()
        self._log("ERROR", f"Spark's JVM has ended with exit code {self._gateway.proc.returncode}")
        self.leave()

    def _leave_application(self, reason: str) -> None:
        self._log("ERROR", reason)
        self.leave()

    def _start_spark(self) -> Any:
        java = find_java()
        if java is None:
            self._log("ERROR", NO_JAVA)
            self.leave()
        assert java is not None
        settings, folder = self._settings, Path(self._settings.folder)
        os.environ.update(environment(settings.conf, settings.local))
        if settings.local:
            os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
            os.environ[PRELOAD] = settings.runner.partition(":")[0]
            os.environ[SOCKET] = str(self._session_socket())
            os.environ[ROWS] = settings.folder
        self._conf = self._with_packages()
        options = (*SLOTS_JAVA_OPTIONS, *self._archive_options())
        conf = self._conf
        if settings.local:
            self._local = LocalFolders(conf, str(folder.parent), "_slots")
            self._local.remove()  # those of a driver that was killed
            conf = self._local.conf
        return start_spark(java, conf, settings.master, folder, folder.parent, options, self._launched)

    def _launched(self, gateway: Any) -> None:
        self._gateway = gateway

    def _serve_session(self, context: Any) -> None:
        """Connectors on a cluster use the executors of its application; on this machine they have a JVM of their own,
        whose end does not end the slots."""
        listener = listen(self._session_socket(), session_link(self._settings.socket))
        if self._settings.local:
            self._session = SessionStarter(self._settings, self._conf, listener, self._log)
            self._session.start()
        else:
            serve_session(context, listener, self._settings.folder, self._worker)

    def _session_socket(self) -> Path:
        """Beside the slots' socket, since the path of a socket must be short."""
        return session_socket(self._settings.socket, self._settings.generation)

    def _report_ready(self, version: str) -> None:
        archive = archive_path() if self._settings.local and self._settings.archive else None
        self._report(
            {
                "op": "ready",
                "seconds": round(time.monotonic() - self._started, 2),
                "version": version,
                "archive": archive is not None and archive.exists(),
            }
        )

    def _archive_options(self) -> tuple[str, ...]:
        if self._settings.record:
            return record_options(Path(self._settings.folder, "spark.jsa"))
        return use_options(archive_path()) if self._settings.archive else ()

    def _with_packages(self) -> dict[str, str]:
        if packages := self._settings.conf.get(PACKAGES):
            self._log("INFO", f"Jars for Spark are taken from the cache or downloaded: {packages}")
        try:
            return with_packages(self._settings.conf)
        except (InstallError, JavaError, JarsError) as error:
            self._log("ERROR", f"The packages of {PACKAGES} could not be installed: {error}")
            self.leave()
            raise

    def _start_keepers(self) -> None:
        with self._slots:
            for slot in sorted(self._wanted - self._kept):
                name = f"slot-{slot}"
                threading.Thread(target=self._keep_slot, args=(self._context, slot), name=name, daemon=True).start()
                self._kept.add(slot)

    def _kept_slots(self) -> set[int]:
        with self._slots:
            return set(self._wanted)

    def _is_wanted(self, slot: int) -> bool:
        """Whether the driver must keep the slot running; otherwise its thread ends."""
        with self._slots:
            if slot not in self._wanted:
                self._kept.discard(slot)
            return slot in self._wanted

    def _keep_slot(self, context: Any, slot: int) -> None:
        """Run the slot's Spark job, and restart it when it ends: immediately, or after a pause if it keeps ending. The
        worker accepts each attempt once, also of a slot that was given up and is wanted again."""
        quick_ends = 0
        while self._is_wanted(slot):
            self._attempts[slot] += 1
            started = time.monotonic()
            reason = self._run_job(context, slot, self._attempts[slot])
            quick_ends = quick_ends + 1 if time.monotonic() - started < SHORT_LIFE else 0
            pause = 0.0 if quick_ends < 2 else min(0.25 * 2**quick_ends, MAX_PAUSE)
            if reason:
                self._log("ERROR", f"The Spark job of slot {slot} has failed and is restarted in {pause:g} s: {reason}")
            time.sleep(pause)

    def _run_job(self, context: Any, slot: int, attempt: int) -> str | None:
        """Run the job until it ends. Returns the error, except for the death of the slot, which the worker notices
        itself, and for a restart that the worker has requested."""
        ours = self._settings
        settings = SlotSettings(
            ours.socket, ours.generation, slot, attempt, ours.lease_ttl, ours.runner, ours.folder,
            ours.java_heap, tuple(ours.java_options), tuple(ours.plugin_path), ours.access,
        )  # fmt: skip
        try:
            context.setJobGroup(group_of(slot), f"slot {slot}, attempt {attempt}", interruptOnCancel=True)
            if self._cluster is not None:
                with self._slots:
                    size = self._executors.get(slot, ANY_SIZE)
                self._cluster.run(settings, size)
            else:
                run_to_end(context.parallelize([slot], 1), partial(serve, settings))
        except Exception as error:  # Spark's and Py4J's errors have no common type
            if self._jvm_has_ended(error):
                return None
            text = str(error)
            if DIED not in text:
                return None if CANCELLED in text else _without_java_frames(text)
            if not is_first_run(text):
                return None
        self._report({"op": "slot_ended", "slot": slot, "attempt": attempt})
        return None

    def _jvm_has_ended(self, error: Exception) -> bool:
        """Whether this is the reason for an error, which run() reports."""
        if not has_lost_jvm(error):
            return False
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._gateway.proc.wait(JVM_END)
            return True
        return False

    def _record(self, context: Any) -> None:
        """Have the JVM load the classes of a normal start, shut it down, and keep the archive that it writes at
        exit."""
        run_to_end(context.parallelize([0], 1), nothing)
        context.stop()
        written = Path(self._settings.folder, "spark.jsa")
        self._gateway.proc.stdin.close()
        self._gateway.proc.wait()
        target = archive_path()
        if target and written.exists():
            keep(written, target)
        self.leave()

    def _watch_worker(self) -> None:
        """An error must not keep the end of the worker from being noticed."""
        for line in sys.stdin.buffer:
            try:
                self._request_slots(json.loads(line))
            except Exception:  # part of a line, of a worker that was killed; no more threads; Py4J's errors
                traceback.print_exc()
        self.leave()

    def _request_slots(self, message: SlotsMessage) -> None:
        with self._slots:
            self._wanted = set(message["slots"])
            self._executors = executor_sizes(message["executors"])
        if self._context is not None:
            self._start_keepers()
            for slot in message["restart"]:
                self._restart(slot)

    def _restart(self, slot: int) -> None:
        """Cancel the Spark job of a slot that does not connect, unless the job waits for a free core."""
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group_of(slot))]
        stages = [tracker.getStageInfo(stage) for job in jobs if job is not None for stage in job.stageIds]
        if any(stage is not None and stage.numActiveTasks for stage in stages):
            self._log("WARN", f"Slot {slot} has not connected to the worker in time and is started again")
            self._context.cancelJobGroup(group_of(slot))

    def leave(self) -> None:
        """End the JVM and everything else in this process group, this process last. Does not return."""
        self._lock.acquire()  # never released: a second caller waits for the end
        self._guard.end_all()
        if self._gateway is not None and not self._settings.record:
            signal_group(signal.SIGTERM)
            with contextlib.suppress(Exception):
                self._gateway.proc.wait(JVM_END)
        self._guard.end_all()  # slots that started meanwhile
        if self._session is not None:
            self._session.remove_files()
        if self._local is not None:
            self._local.remove()
        shutil.rmtree(self._settings.folder, ignore_errors=True)
        if os.getppid() != self._worker:  # a killed worker cannot remove its folder
            shutil.rmtree(Path(self._settings.folder).parent, ignore_errors=True)
        signal_group(signal.SIGKILL)

    def _log(self, level: str, message: str) -> None:
        if not self._lock.locked():  # failures during the shutdown are expected
            self._report({"op": "log", "level": level, "message": message})

    def _report(self, message: FromDriver) -> None:
        with contextlib.suppress(OSError):  # the worker has died: _watch_worker ends this process
            self._reports.write(json.dumps(message) + "\n")


def _without_java_frames(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("\tat "))[:MAX_REASON]


def nothing(rows: Any) -> tuple[()]:
    """The body of a job that does nothing."""
    return ()


def signal_group(number: int) -> None:
    """Signal this process group: the JVM, the scripts that start it, and this process, which ignores SIGTERM."""
    os.killpg(os.getpgid(0), number)


def main() -> None:
    """Run the driver process, with settings from standard input."""
    if os.getpgid(0) != os.getpid():
        os.setpgid(0, 0)
    faulthandler.enable()
    signal.signal(signal.SIGTERM, lambda *_: None)  # not SIG_IGN, which the JVM would inherit
    settings = DriverSettings.from_json(json.loads(sys.stdin.buffer.readline()))
    limit_files(settings.file_paths)
    if settings.record:
        os.nice(19)
        end_first(BEFORE_ALL)
    driver = Driver(settings)
    try:
        driver.run()
    except BaseException:  # every exit goes through leave()
        traceback.print_exc()
        driver.leave()


if __name__ == "__main__":
    main()

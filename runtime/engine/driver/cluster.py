"""Slots on the executors of a cluster: how they are started, where they run, and whether they wait for a core."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import zipfile
from collections.abc import Callable, Collection
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import runtime
from runtime.engine.driver import launch
from runtime.engine.driver.executor_profiles import ExecutorProfiles
from runtime.engine.protocol.messages import ExecutorsMessage
from runtime.engine.protocol.remote import Attempt
from runtime.engine.protocol.settings import DriverSettings, SlotSettings
from runtime.model.executor_size import ExecutorSize

_log = logging.getLogger(__name__)

CHECK_INTERVAL = 1.0  # seconds
FIRST_WAIT = 3  # checks after which a slot counts as waiting: a free core is used sooner
FORGOTTEN = 60  # checks without any executor, after there was one

_FIRST_RUN = "Lost task 0.0 in stage"  # in Spark's errors: the task's index and the number of its run


def group_of(slot: int) -> str:
    """The name of the job group of a slot."""
    return f"slot-{slot}"


def is_first_run(error: str) -> bool:
    """Whether a job has failed with the first run of its task. Spark runs a task again whose executor was lost without
    fault of the application, such as with its machine; the worker refuses the second process, whose end does not
    show that the first one has ended: it may still hold its lease."""
    return _FIRST_RUN in error


def run_to_end(job: Any, body: Callable[[Any], Any]) -> None:
    """Run the body of a slot's job for its only partition. The JVM counts its results, of which there are none: an
    action of PySpark would unpickle what the executor sends instead."""
    job.mapPartitions(body)._jrdd.count()


def refuse_accumulators(context: Any) -> None:
    """Close the socket where PySpark unpickles what executors send for its accumulators, of which slots have none."""
    # in a thread: the server looks for the end every half second
    threading.Thread(target=context._accumulatorServer.shutdown, name="accumulators", daemon=True).start()


class ClusterJobs:
    """Runs the Spark jobs of slots on executors. Thread-safe."""

    def __init__(self, context: Any, settings: DriverSettings) -> None:
        from pyspark import cloudpickle

        archive = write_code_archive(Path(settings.folder))
        context.addArchive(str(archive))
        cloudpickle.register_pickle_by_value(launch)  # executors do not have the module
        self._context, self._secret = context, settings.secret
        self._body = partial(launch.launch, archive.name)
        self._profiles = ExecutorProfiles(settings.master, settings.conf)

    def run(self, settings: SlotSettings, size: ExecutorSize) -> None:
        """Run the job of a slot until it ends, on an executor of this size. The token travels in the job's data: Spark
        stores code and properties of jobs, such as in event logs, but sends data with the task only."""
        attempt = Attempt(settings.generation, settings.slot, settings.attempt)
        row = json.dumps({"settings": asdict(settings), "token": attempt.token(self._secret)})
        job = self._context.parallelize([row], 1)
        if (profile := self._profiles.of(size)) is not None:
            job = job.withResources(profile)
        run_to_end(job, self._body)


class ExecutorWatch:
    """Reports slots that wait for a core, slots whose executors are being decommissioned, and the application's end."""

    def __init__(
        self, context: Any, slots: Callable[[], Collection[int]], report: Callable[[ExecutorsMessage], None],
        ended: Callable[[str], None],
    ) -> None:  # fmt: skip
        """`slots` that should run; `report` is called when something has changed, `ended`, with the reason, when the
        cluster has removed the application: Spark then stops its context, but not its JVM; or when a standalone master
        may have forgotten it, since all its executors have been missing for a while: Spark does not register again."""
        self._context, self._slots, self._report, self._ended = context, slots, report, ended
        self._spark = context._jsc.sc()
        self._may_forget = context.master.startswith("spark://")
        self._had_executors = False
        self._checks: dict[int, int] = {}
        self._last: tuple[list[int], list[int]] = [], []

    def start(self) -> None:
        """Start the thread."""
        threading.Thread(target=self._run, name="executors", daemon=True).start()

    def _run(self) -> None:
        pause = threading.Event()
        while not pause.wait(CHECK_INTERVAL):
            try:
                self.check()
            except Exception:  # Py4J's errors: the JVM is ending, or a job has just ended
                _log.debug("The executors of the slots could not be determined", exc_info=True)

    def check(self) -> None:
        """Look at the application and the tasks of all slots once."""
        if self._spark.isStopped():
            self._ended("The cluster has ended Spark's application")
            return
        waiting, leaving = [], []
        slots = sorted(self._slots())
        self._checks = {slot: self._checks.get(slot, 0) for slot in slots}
        for slot in slots:
            executor = self._executor_of(slot)
            self._checks[slot] = self._checks[slot] + 1 if executor is None else 0
            self._had_executors = self._had_executors or executor is not None
            if executor is None and self._checks[slot] >= FIRST_WAIT:
                waiting.append(slot)
            elif executor is not None and not self._is_staying(executor):
                leaving.append(slot)
        if self._may_forget and self._had_executors and min(self._checks.values(), default=0) >= FORGOTTEN:
            self._ended(f"No slot has had an executor for {FORGOTTEN} s: the master may have lost Spark's application")
        if (waiting, leaving) != self._last:
            self._last = waiting, leaving
            self._report({"op": "executors", "waiting": waiting, "leaving": leaving})

    def _executor_of(self, slot: int) -> str | None:
        """The executor on which the task of a slot runs; None if the slot waits for one."""
        tracker = self._context.statusTracker()
        jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group_of(slot))]
        for job in jobs:
            for stage in job.stageIds if job is not None and job.status == "RUNNING" else ():
                tasks = self._spark.statusStore().taskList(stage, 0, 1)
                if tasks.size() and str(tasks.apply(0).status()) == "RUNNING":
                    return str(tasks.apply(0).executorId())
        return None

    def _is_staying(self, executor: str) -> bool:
        """False while an executor is decommissioned or lost."""
        return bool(self._spark.schedulerBackend().isExecutorActive(executor))


_EPOCH = (1980, 1, 1, 0, 0, 0)  # the time of all files, so that equal content gives equal archives


def write_code_archive(folder: Path) -> Path:
    """A zip file with the package `runtime`, in `folder`."""
    root = Path(str(runtime.__file__)).parent
    files = sorted(file for file in root.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    digest = hashlib.sha256()
    draft = folder / "code.zip"
    with zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as content:
        for file in files:
            name, data = file.relative_to(root.parent).as_posix(), file.read_bytes()
            digest.update(f"{name} {len(data)}\n".encode() + data)
            info = zipfile.ZipInfo(name, _EPOCH)
            info.external_attr, info.compress_type = 0o644 << 16, zipfile.ZIP_DEFLATED
            content.writestr(info, data)
    return draft.rename(folder / f"headrace-{digest.hexdigest()[:16]}.zip")

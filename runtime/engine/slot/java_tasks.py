"""The task host of a slot: the JVM for the Java plugins of its tasks, which starts with the first of them."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from runtime.engine.protocol.lease_cell import cell_path
from runtime.engine.protocol.messages import FromSlot
from runtime.engine.protocol.settings import SlotSettings
from runtime.engine.protocol.task_specs import about
from runtime.engine.slot.task_thread import TaskThread
from runtime.java.errors import HostLostError
from runtime.java.host.host import JavaHost
from runtime.java.host.process import JvmEnd
from runtime.java.host.watch import HostWatch
from runtime.java.plugins.shared_host import share
from runtime.system.processes import resident

if TYPE_CHECKING:
    from runtime.java.host.process import JvmSettings

_log = logging.getLogger(__name__)

_LEVELS = {"ALL": "TRACE"}  # of the JVM, which has no further levels


class JavaTasks:
    """Thread-safe."""

    def __init__(
        self,
        settings: SlotSettings,
        tasks: Callable[[], Iterable[TaskThread]],
        put: Callable[[FromSlot], None],
    ) -> None:
        """`tasks` of the slot; `put` sends a message to the worker."""
        self._settings, self._tasks, self._put = settings, tasks, put
        self._host = JavaHost(self._jvm_settings, self._ended)
        self._watch = HostWatch(self._host, self._move)
        share(self._host)

    def start(self) -> None:
        """Start the checks."""
        self._watch.start()

    @property
    def is_running(self) -> bool:
        """Whether there is a JVM."""
        return bool(self._host.jvms)

    @property
    def memory(self) -> int:
        """Resident bytes of the JVM."""
        return sum(resident(jvm.process.pid) for jvm in self._host.jvms)

    @property
    def heap(self) -> int:
        """Bytes of the heap in use."""
        return self._watch.heap

    def set_levels(self, levels: Mapping[str, str]) -> None:
        """Set the levels of loggers in the JVM."""
        self._host.set_levels({logger: _LEVELS.get(level, level) for logger, level in levels.items()})

    def stacks(self, thread: int) -> str:
        """The Java stacks of the calls in which a thread of this process waits; empty if there are none."""
        try:
            return "".join(f"In Java:\n{stack}" for stack in self._host.stacks(thread))
        except HostLostError as error:
            return f"{error}\n"

    def end(self, reason: str) -> None:
        """End the JVM, which uses too much memory."""
        for jvm in self._host.jvms:
            jvm.end(JvmEnd(reason, at_fault=True))

    def _jvm_settings(self) -> JvmSettings:
        from runtime.java.host.install import host_settings
        from runtime.java.jvm.java import find_java
        from runtime.plugins.registry import java_names

        own = self._settings
        lease = cell_path(own.folder, own.slot, os.getpid())
        settings = host_settings(find_java(), own.java_heap, lease, own.java_options)
        return replace(settings, names=java_names(own.plugin_path))

    def _ended(self, end: JvmEnd, owners: frozenset[int]) -> None:
        """Sent before the tasks report that they have lost the JVM."""
        _log.log(logging.INFO if end.planned else logging.ERROR, "%s", end.reason)
        runs = [about(task.spec) for task in self._of(owners)]
        if runs and not end.planned:
            self._put({"op": "java_ended", "tasks": runs, "reason": end.reason, "at_fault": end.at_fault})

    def _move(self, owners: frozenset[int], reason: str) -> None:
        for task in self._of(owners):
            task.move(reason)

    def _of(self, owners: frozenset[int]) -> list[TaskThread]:
        return [task for task in list(self._tasks()) if task.thread in owners]

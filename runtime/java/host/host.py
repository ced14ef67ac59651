"""The task host of a process: JVMs that run plugin code, normally one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping

from runtime.java.errors import HostLostError
from runtime.java.host.control import ContextCall
from runtime.java.host.deadline import limited
from runtime.java.host.jvm import JavaClass, PluginObject, TaskHostJvm
from runtime.java.host.process import JvmEnd, JvmSettings

__all__ = ["JavaClass", "JavaHost", "PluginObject"]

OnEnd = Callable[[JvmEnd, "frozenset[int]"], None]
"""Called when a JVM has ended, with the threads that own objects in it; on any thread."""

_STOPPED = JvmEnd("The task host was stopped", planned=True)


class JavaHost:
    """The task host of this process. A JVM starts with the first object, and again after it has ended. Thread-safe.

    While a JVM is being replaced, its objects remain in it until they are closed, and new objects are created in a new
    JVM."""

    def __init__(
        self, settings: JvmSettings | Callable[[], JvmSettings], on_end: OnEnd = lambda end, owners: None
    ) -> None:
        """A function for the settings is called whenever a JVM starts."""
        self._settings, self._on_end = settings, on_end
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._current: TaskHostJvm | None = None
        self._retired: list[TaskHostJvm] = []
        self._levels: dict[str, str] = {}
        self._revoked: set[int] = set()  # threads whose tasks must end

    @property
    def pid(self) -> int | None:
        """The process id of the JVM that gets new objects; None while there is none."""
        current = self._current
        return None if current is None or not current.alive else current.process.pid

    @property
    def jvms(self) -> list[TaskHostJvm]:
        """All running JVMs, the current one last."""
        with self._lock:
            jvms = [*self._retired, *([self._current] if self._current is not None else [])]
        return [jvm for jvm in jvms if jvm.alive]

    def start(self) -> None:
        """Start a JVM unless one runs. Raises as TaskHostJvm, and what the function for the settings raises."""
        self._running()

    def holds(self, plugin: PluginObject) -> bool:
        """Whether an object is in a running JVM; false when the end of its JVM is reported."""
        return self._jvm_of(plugin) is not None

    def is_retired(self, jvm: TaskHostJvm) -> bool:
        """Whether a JVM gets no more objects."""
        return jvm is not self._current

    def create(self, kind: str, plugin: JavaClass, thread: str, context: ContextCall | None = None) -> PluginObject:
        """A new object: `kind` is source_task, sink_task, connector, transformation, predicate, converter or
        header_converter. `thread` names its thread unless this thread works for a connector or task, whose name in
        Connect it gets then; `context` answers the calls of its context.

        Raises the exception of the class's constructor, HostLostError or CallTimeoutError."""
        if threading.get_ident() in self._revoked:
            raise HostLostError("The task was revoked")
        return self._running().create(kind, plugin, thread, context or _no_context)

    def stack(self, plugin: PluginObject) -> str | None:
        """The stack of the object's thread in the JVM; None if it has ended. HostLostError if the JVM has ended."""
        jvm = self._jvm_of(plugin)
        return None if jvm is None else jvm.stack(plugin.link.number)

    def stacks(self, thread: int) -> list[str]:
        """The Java stacks of the calls that wait on a thread of this process: usually none or one."""
        return [
            jvm.stack(made.link.number) or ""
            for jvm in self.jvms
            for made in jvm.objects
            if made.link.caller == thread
        ]  # fmt: skip

    def set_levels(self, levels: Mapping[str, str]) -> None:
        """Set the levels of loggers, by name, in present and future JVMs; `root` for all."""
        self._levels = {**self._levels, **levels}
        for jvm in self.jvms:
            jvm.set_levels(levels)

    def release(self, thread: int, ended: bool = False) -> None:
        """Close all objects that a thread owns; calls under way are interrupted and raise HostLostError. Unless the
        task of the thread has `ended`, it cannot create objects any more."""
        if ended:
            self._revoked.discard(thread)
        else:
            self._revoked.add(thread)
        for jvm in self.jvms:
            for made in jvm.objects:
                if made.owner == thread:
                    made.close()

    def retire(self, jvm: TaskHostJvm) -> None:
        """The JVM gets no more objects. Its owner ends it."""
        with self._lock:
            if self._current is jvm:
                self._current = None
                self._retired.append(jvm)

    def stop(self) -> None:
        """End all JVMs at once. Objects should have been closed before."""
        running = self.jvms
        with self._lock:
            self._current, self._retired = None, []
        for jvm in running:
            jvm.end(_STOPPED)
        for jvm in running:
            jvm.process.ended.wait()

    def _jvm_of(self, plugin: PluginObject) -> TaskHostJvm | None:
        return next((jvm for jvm in self.jvms if plugin in jvm.objects), None)

    def _running(self) -> TaskHostJvm:
        current = self._current
        if current is not None and current.alive:
            return current
        with limited(None), self._starting:  # a start has a limit of its own, and may first download jars
            current = self._current
            if current is None or not current.alive:
                settings = self._settings if isinstance(self._settings, JvmSettings) else self._settings()
                current = TaskHostJvm(settings, self._levels, self._ended)
                with self._lock:
                    self._current = current
            return current

    def _ended(self, jvm: TaskHostJvm) -> None:
        with self._lock:
            if self._current is jvm:
                self._current = None
            if jvm in self._retired:
                self._retired.remove(jvm)
        self._on_end(jvm.process.end, owners(jvm.objects))


def owners(objects: Iterable[PluginObject]) -> frozenset[int]:
    """The threads that own these objects."""
    return frozenset(made.owner for made in objects)


def _no_context(name: str, argument: object) -> None:
    raise HostLostError(f"{name} is not available to this plugin")

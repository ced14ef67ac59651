"""One task host JVM: its process, its control link, and the objects in it."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from runtime.java.errors import HostLostError, HostStartError
from runtime.java.host.control import ContextCall, ControlLink
from runtime.java.host.link import Link
from runtime.java.host.process import HostProcess, JvmEnd, JvmSettings
from runtime.logs import context as log_context
from runtime.system.scheduling import RunLimit

START_TIMEOUT = 60.0
"""Seconds in which a JVM must answer after its start, while it has a processor; it needs half a second."""
_END = 2.0  # seconds for the end of a process that does not answer any more


@dataclass(frozen=True, slots=True)
class JavaClass:
    """A class in a location of `plugin.path`: a folder of jars or a single jar, with its class loader in the JVM.

    Without a location the class is one of Kafka's own."""

    name: str
    location: str | None = None
    jars: Sequence[str] = field(default=())


@dataclass(frozen=True, slots=True)
class JvmStatus:
    """Bytes of the heap in use, and the links whose threads run, at `asked` (time.monotonic())."""

    heap: int
    links: frozenset[int]
    asked: float


class PluginMetric(NamedTuple):
    """A metric that a plugin has registered (KIP-877)."""

    name: str
    description: str
    tags: Mapping[str, str]
    value: float


class PluginObject:
    """An object in the JVM: an instance of a plugin's class, whose methods are called over a link of its own.

    `owner` is the thread that has created the object: that of its task."""

    version: str | None = None
    reports = False
    """The class is a source task whose commitRecord() does something."""
    commits = False
    """The class is a source task whose commit() does something."""
    uses_headers = False
    """The class is a converter that reads or writes the headers of records."""
    metrics: Sequence[PluginMetric] = ()
    """The metrics of the plugin, at most a second old."""
    metrics_changed: Callable[[], None] | None = None
    """Called on another thread when `metrics` has changed."""

    def __init__(
        self, jvm: TaskHostJvm, link: Link, context: ContextCall, closed: Callable[[PluginObject], None]
    ) -> None:
        self.jvm, self.link = jvm, link
        self.call, self.exchange = link.call, link.exchange
        self.owner = threading.get_ident()
        self._context, self._closed = context, closed

    def respond(self, name: str, argument: Any) -> Any:
        """Answers a call of the plugin's context, or takes its metrics."""
        if name != "metrics":
            return self._context(name, argument)
        self.metrics = [PluginMetric(*metric) for metric in argument]
        if self.metrics_changed is not None:
            self.metrics_changed()
        return None

    def close(self) -> None:
        """End the object. If a call is under way, its thread in the JVM is interrupted, and the call raises
        HostLostError here."""
        if not self.link.closed:
            self.link.close()
            self._closed(self)


class TaskHostJvm:
    """A running JVM. Thread-safe."""

    def __init__(
        self,
        settings: JvmSettings,
        levels: Mapping[str, str],
        on_end: Callable[[TaskHostJvm], None],
        start_timeout: float = START_TIMEOUT,
    ) -> None:
        """`levels` of its loggers. Returns when the JVM answers. HostStartError if it ends itself, HostLostError if it
        is killed, or does not answer within `start_timeout` seconds."""
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._objects: dict[int, PluginObject] = {}
        self._closed: dict[int, float] = {}  # links that were closed, with the time; their threads may still run
        self._admin: Link | None = None
        self.process = HostProcess(settings, lambda: on_end(self))
        self.used = time.monotonic()  # when an object was created or closed last
        frozen = JvmEnd(f"The task host JVM has not responded within {start_timeout:.0f} s of its start")
        started, limit = threading.Event(), RunLimit(start_timeout, [self.process.pid])
        threading.Thread(
            target=self._limit_start, args=(started, limit, frozen), name="java-start", daemon=True
        ).start()
        try:
            self._control = ControlLink(self.process.connect(), settings.names, levels)
            self.status()
        except HostLostError as error:
            self.process.ended.wait(_END)
            if (end := self.process.end).at_fault:  # `error` may say only that a connection has ended
                raise HostStartError(f"{end.reason}. Check headrace.java.options and headrace.java.heap.mb") from error
            raise
        except BaseException as error:  # nobody else would end this JVM
            self.process.kill(JvmEnd(f"The task host JVM has not started: {error}"))
            raise
        finally:
            started.set()

    def _limit_start(self, started: threading.Event, limit: RunLimit, frozen: JvmEnd) -> None:
        while not started.wait(limit.pause):
            if limit.over():
                self.process.kill(frozen)
                return

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return not self.process.ended.is_set()

    @property
    def objects(self) -> list[PluginObject]:
        """All objects that have not been closed."""
        with self._lock:
            return list(self._objects.values())

    def create(self, kind: str, plugin: JavaClass, thread: str, context: ContextCall) -> PluginObject:
        """As JavaHost.create()."""
        link = Link(self.process.connect(), next(self._numbers), self.process.reason)
        number = link.number
        made = PluginObject(self, link, context, self._object_closed)
        owner = log_context.current()
        self._control.register(number, made.respond)
        self.used = time.monotonic()
        with self._lock:
            self._objects[number] = made  # before the constructor runs, which may end the JVM or hang
        try:
            made.version, made.reports, made.commits, made.uses_headers = link.call(
                kind, number, _thread_name(owner) or thread, plugin.location, list(plugin.jars), plugin.name,
                str(number), owner,
            )  # fmt: skip
        except BaseException:
            made.close()
            raise
        return made

    def stack(self, link: int) -> str | None:
        """The stack of the thread of a link; None if it has ended."""
        stack: str | None = self._ask("stack", link)
        return stack

    def status(self) -> JvmStatus:
        """Asks the JVM. HostLostError if it has ended."""
        asked = time.monotonic()
        heap, links = self._ask("status")
        return JvmStatus(int(heap), frozenset(links), asked)

    def set_levels(self, levels: Mapping[str, str]) -> None:
        """Set the levels of loggers, by name; `root` for all. Does not wait."""
        self._control.set_levels(levels)

    def leaks(self, status: JvmStatus, before: float) -> list[int]:
        """Links that were closed before this time (time.monotonic()), but whose threads still run: their code ignores
        interrupts. They are interrupted again."""
        with self._lock:
            for number, at in list(self._closed.items()):
                if at < status.asked and number not in status.links:
                    del self._closed[number]
            leaks = [number for number, at in self._closed.items() if at < before]
        for number in leaks:
            self._control.interrupt(number)
        return leaks

    def exit(self, timeout: float) -> None:
        """Let the JVM end itself, with its shutdown hooks, within `timeout` seconds."""
        with contextlib.suppress(HostLostError):
            self._ask("exit")
        if not self.process.ended.wait(timeout):
            self.process.kill(JvmEnd("The JVM did not exit", planned=True))

    def end(self, end: JvmEnd) -> None:
        """End the JVM at once. Calls that are under way raise HostLostError."""
        self.process.kill(end)
        self._control.close()

    def _object_closed(self, made: PluginObject) -> None:
        number = made.link.number
        with self._lock:
            self._objects.pop(number, None)
            self._closed[number] = self.used = time.monotonic()
        self._control.interrupt(number)
        self._control.forget(number)

    def _ask(self, name: str, *arguments: Any) -> Any:
        with self._lock:
            if self._admin is None:
                admin = Link(self.process.connect(), next(self._numbers), self.process.reason)
                admin.call("admin", admin.number, "admin", None, [], "", "0", "")
                self._admin = admin
            admin = self._admin
        return admin.call(name, *arguments)


def _thread_name(owner: str) -> str | None:
    """Connect's name for the thread of a connector or task, by its log context; None without one."""
    context = log_context.parse(owner)
    if context is None:
        return None
    name, task = context
    return f"connector-thread-{name}" if task is None else f"task-thread-{name}-{task}"

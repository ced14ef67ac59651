"""A task host: the JVM, its control link, and the links to plugin objects."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from runtime.java.errors import HostLostError
from runtime.java.host.control import ContextCall, ControlLink
from runtime.java.host.link import Link
from runtime.java.host.process import HostProcess, JvmSettings


@dataclass(frozen=True, slots=True)
class JavaClass:
    """A class in a location of `plugin.path`: a folder of jars or a single jar, with its class loader in the JVM.

    Without a location the class is one of Kafka's own."""

    name: str
    location: str | None = None
    jars: Sequence[str] = field(default=())


class PluginObject:
    """An object in the JVM: an instance of a plugin's class, whose methods are called over a link of its own."""

    def __init__(self, link: Link, version: str | None, reports: bool, closed: Callable[[], None]) -> None:
        """`reports`: the class is a source task whose commitRecord() does something."""
        self.link, self.version, self.reports = link, version, reports
        self.call, self.exchange = link.call, link.exchange
        self._closed = closed

    def close(self) -> None:
        """End the object. If a call is under way, its thread in the JVM is interrupted, and the call raises
        HostLostError here."""
        self.link.close()
        self._closed()


class JavaHost:
    """The task host of this process. The JVM starts with the first object, and again after it has ended."""

    def __init__(self, settings: JvmSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._process: HostProcess | None = None
        self._control: ControlLink | None = None
        self._admin: Link | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the JVM; None while there is none."""
        process = self._process
        return None if process is None or process.ended.is_set() else process.pid

    def create(self, kind: str, plugin: JavaClass, thread: str, context: ContextCall | None = None) -> PluginObject:
        """A new object: `kind` is source_task, sink_task, connector, transformation, predicate, converter or
        header_converter. `thread` names its thread; `context` answers the calls of its context.

        Raises the exception of the class's constructor, or HostLostError."""
        process, control = self._running()
        link = Link(process.connect(), next(self._numbers), process.reason)
        number = link.number
        control.register(number, context or _no_context)

        def closed() -> None:
            control.interrupt(number)
            control.forget(number)

        try:
            version, reports = link.call(
                kind, number, thread, plugin.location, list(plugin.jars), plugin.name, str(number)
            )
        except BaseException:
            link.close()
            control.forget(number)
            raise
        return PluginObject(link, version, reports, closed)

    def stack(self, plugin: PluginObject) -> str | None:
        """The stack of the object's thread in the JVM."""
        found: str | None = self._ask("stack", plugin.link.number)
        return found

    def used_heap(self) -> int:
        """Bytes of the heap in use."""
        return int(self._ask("memory"))

    def set_level(self, logger: str, level: str) -> None:
        """Set the level of a logger in the JVM and of those below it; `root` for all."""
        self._ask("level", logger, level)

    def stop(self) -> None:
        """End the JVM at once. Objects should have been closed before."""
        with self._lock:
            process, self._process = self._process, None
            if self._control is not None:
                self._control.close()
            self._admin = None
        if process is not None and not process.ended.wait(2.0):
            process.kill()
            process.ended.wait()

    def _ask(self, name: str, *arguments: Any) -> Any:
        process, _ = self._running()
        with self._lock:
            if self._admin is None:
                self._admin = Link(process.connect(), next(self._numbers), process.reason)
                self._admin.call("admin", self._admin.number, "admin", None, [], "", "0")
            admin = self._admin
        return admin.call(name, *arguments)

    def _running(self) -> tuple[HostProcess, ControlLink]:
        with self._lock:
            if self._process is None or self._control is None or self._process.ended.is_set():
                self._process = HostProcess(self._settings)
                self._control, self._admin = ControlLink(self._process.connect()), None
            return self._process, self._control


def _no_context(name: str, argument: Any) -> Any:
    raise HostLostError(f"{name} is not available to this plugin")

"""Java classes of `plugin.path` as classes of `runtime.api`, whose instances are objects in a task host."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, cast

from runtime.api.config.definition import ConfigDef
from runtime.java.discovery.locations import class_path
from runtime.java.host.host import JavaClass, JavaHost
from runtime.java.plugins.connector import JavaConnector, JavaSinkConnector, JavaSourceConnector
from runtime.java.plugins.converters import JavaConverter, JavaHeaderConverter
from runtime.java.plugins.definition import definition_of, temporary
from runtime.java.plugins.sink_task import JavaSinkTask
from runtime.java.plugins.source_task import JavaSourceTask
from runtime.java.plugins.steps import JavaPredicate, JavaTransformation
from runtime.java.target import JavaTarget

_BASES: dict[str, tuple[type, str]] = {
    "source": (JavaSourceConnector, "connector"),
    "sink": (JavaSinkConnector, "connector"),
    "source_task": (JavaSourceTask, "source_task"),
    "sink_task": (JavaSinkTask, "sink_task"),
    "transformation": (JavaTransformation, "transformation"),
    "predicate": (JavaPredicate, "predicate"),
    "converter": (JavaConverter, "converter"),
    "header_converter": (JavaHeaderConverter, "header_converter"),
}
"""The base class and the kind of object in the task host, by kind of plugin."""


class JavaClasses:
    """The Java classes that one task host loads. Thread-safe."""

    def __init__(self, host: JavaHost) -> None:
        self.host = host
        self._lock = threading.Lock()
        self._types: dict[tuple[str, str], type] = {}

    def load(self, target: str, kind: str) -> type:
        """The class of a target "java:CLASS@LOCATION", with a constructor without arguments. `kind` is source, sink,
        source_task, sink_task, transformation, predicate, converter or header_converter. Starts no JVM.

        `java_name` is the name of the Java class, `java_target` the target. Plugins have their keys in `config_def`,
        connectors their task in `task_class`; the first use asks the JVM."""
        with self._lock:
            cls = self._types.get((target, kind))
            if cls is None:
                cls = self._types[target, kind] = _type(target, kind, self)
            return cls

    def version(self, target: str, kind: str) -> str | None:
        """The version that an instance reports; None if it reports none. Raises the exception of the constructor,
        HostLostError or CallTimeoutError."""
        made = self.host.create(_BASES[kind][1], java_class(target), "version")
        made.close()
        return made.version


def java_class(target: str) -> JavaClass:
    """The class and the jars of its location, which are searched now."""
    parsed = JavaTarget.parse(target)
    return JavaClass(parsed.cls, parsed.location, [str(jar) for jar in class_path(Path(parsed.location))])


def _type(target: str, kind: str, classes: JavaClasses) -> type:
    base, _ = _BASES[kind]
    plugin, host = java_class(target), classes.host

    def make(cls: type) -> Any:
        return JavaSourceTask.__new__(cls, host, plugin) if kind == "source_task" else object.__new__(cls)

    def init(self: Any) -> None:
        super(cast("Any", made), self).__init__(host, plugin)

    members: dict[str, Any] = {"__new__": make, "__init__": init, "__module__": __name__}
    members |= {"java_name": plugin.name, "java_target": target}
    if not kind.endswith("_task"):
        members["config_def"] = members["definition"] = _Definition(plugin, kind, host)
    if kind in ("source", "sink"):
        members["task_class"] = _TaskClass(target, kind, classes)
    made = type(plugin.name.rpartition(".")[2], (base,), members)
    return made


class _Definition:
    """The keys of a plugin, which an instance in the JVM describes when they are needed first."""

    def __init__(self, plugin: JavaClass, kind: str, host: JavaHost) -> None:
        self._instance = temporary(host, _BASES[kind][1], plugin)
        self._found: ConfigDef | None = None

    def __get__(self, instance: object, owner: type) -> ConfigDef:
        if self._found is None:
            self._found = definition_of(self._instance)
        return self._found


class _TaskClass:
    """The class of a connector's tasks. Java's connectors may choose it when they start, so that an instance is asked
    each time."""

    def __init__(self, target: str, kind: str, classes: JavaClasses) -> None:
        self._location, self._kind, self._classes = JavaTarget.parse(target).location, f"{kind}_task", classes

    def __get__(self, instance: JavaConnector | None, owner: type[JavaConnector]) -> type:
        if instance is not None:
            name = instance.task_name
        else:
            made = cast("Any", owner)()
            try:
                name = made.task_name
            finally:
                made.close()
        return self._classes.load(str(JavaTarget(name, self._location)), self._kind)

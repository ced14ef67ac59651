"""The description of a plugin: its types, names, version, class and environment."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from runtime import CONNECT_VERSION
from runtime.java.target import JavaTarget, is_java_target


class PluginType(StrEnum):
    """The type of a plugin, in the order in which Connect lists them."""

    SINK = "sink"
    SOURCE = "source"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"


@dataclass(frozen=True, slots=True)
class Plugin:
    """A plugin. `cls` is its name in configurations, `target` is "package.module:Class", or "java:Class@location" in
    Java (`runtime.java.target`). Java plugins belong to no environment, and may be used in all.

    A module with functions of users is described in the same way: `cls` and `target` are its name, and it has no
    types."""

    cls: str
    target: str
    kinds: tuple[PluginType, ...]
    version: str = CONNECT_VERSION
    listed: bool = True  # False: usable, but not in GET /connector-plugins
    environment: str = ""  # id of its environment; empty: the worker's own packages and the folders of plugin.path
    revision: str = ""  # changes with the code; empty for bundled plugins
    reloaded: int = 0  # the reload with which this code appeared; 0: at the start of the worker
    language: str = "python"  # or "java"
    file: str = ""  # the jar of a Java plugin
    preferred: bool = False  # over a bundled plugin of the same class name
    certain: bool = True  # False: only the Java class itself knows its version
    worker_classes: tuple[str, ...] = ()  # classes of Apache's worker that a Java plugin uses

    @property
    def package(self) -> str:
        """The top-level module; of a Java plugin the location."""
        if is_java_target(self.target):
            return JavaTarget.parse(self.target).location
        return self.target.partition(":")[0].partition(".")[0]

    @property
    def simple_name(self) -> str:
        """The class name without its package."""
        return self.cls.rpartition(".")[2]

    @property
    def aliases(self) -> set[str]:
        """The simple name, and the simple name without the suffix of its type; empty for inner classes and modules."""
        if not self.kinds:
            return set()
        suffix = "HeaderConverter" if self.kinds[0] is PluginType.HEADER_CONVERTER else _SUFFIXES[self.kinds[0]]
        name = self.simple_name
        if "$" in name:  # an inner class has no alias
            return set()
        return {name, name.removesuffix(suffix) or name}


_SUFFIXES = {
    PluginType.SINK: "Connector",
    PluginType.SOURCE: "Connector",
    PluginType.TRANSFORMATION: "Transformation",
    PluginType.PREDICATE: "Predicate",
    PluginType.CONVERTER: "Converter",
}

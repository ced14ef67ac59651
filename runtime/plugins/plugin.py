"""What a plugin is: its kind, the names it answers to, where its class is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from runtime import CONNECT_VERSION


class PluginType(StrEnum):
    """What a plugin is; in the order in which Connect lists them."""

    SINK = "sink"
    SOURCE = "source"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"


@dataclass(frozen=True, slots=True)
class Plugin:
    """One plugin. `cls` is the name users know it by, `target` is "package.module:Class"."""

    cls: str
    target: str
    kinds: tuple[PluginType, ...]
    version: str = CONNECT_VERSION
    listed: bool = True  # False: there for those who name it, not among what Apache's workers list

    @property
    def simple_name(self) -> str:
        return self.cls.rpartition(".")[2]

    @property
    def aliases(self) -> set[str]:
        """The class name alone, and without the suffix that says what it is."""
        suffix = "HeaderConverter" if self.kinds[0] is PluginType.HEADER_CONVERTER else _SUFFIXES[self.kinds[0]]
        name = self.simple_name
        if "$" in name:  # an inner class has no short name
            return set()
        return {name, name.removesuffix(suffix) or name}


_SUFFIXES = {
    PluginType.SINK: "Connector",
    PluginType.SOURCE: "Connector",
    PluginType.TRANSFORMATION: "Transformation",
    PluginType.PREDICATE: "Predicate",
    PluginType.CONVERTER: "Converter",
}

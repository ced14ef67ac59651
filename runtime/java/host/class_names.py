"""The names by which Java plugins may load each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ClassNames:
    """Class and location by class name and alias, and the jars of each location. A class without a location is one of
    Kafka's own."""

    classes: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)
    jars: Mapping[str, Sequence[str]] = field(default_factory=dict)

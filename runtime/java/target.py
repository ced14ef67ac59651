"""The text that names a Java class in plans and task specifications, beside "package.module:Class" for Python."""

from __future__ import annotations

from dataclasses import dataclass

_PREFIX = "java:"


@dataclass(frozen=True, slots=True)
class JavaTarget:
    """A Java class, and the folder or jar of `plugin.path` whose class loader loads it. As text: java:CLASS@LOCATION.

    The jars of a location are searched by the process that loads the class (`discovery.locations.class_path`)."""

    cls: str
    location: str

    def __str__(self) -> str:
        return f"{_PREFIX}{self.cls}@{self.location}"

    @classmethod
    def parse(cls, text: str) -> JavaTarget:
        """The reverse of str(). ValueError for the target of a Python class."""
        name, at, location = text.removeprefix(_PREFIX).partition("@")
        if not is_java_target(text) or not at:
            raise ValueError(f"{text} is not a Java class of a plugin location")
        return cls(name, location)


def is_java_target(text: str) -> bool:
    """Whether a target names a Java class."""
    return text.startswith(_PREFIX)

"""The local paths in configurations of SparkSink and SparkSource."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from runtime.api.config.types import java_trim

_LOCAL = ("", "file", "pfile")
_OPTION = "spark.option."
_SCHEME = re.compile(r"([^/:]*):(?://[^/]*)?(.*)", re.DOTALL)


def local_paths(config: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """The keys of local paths, and the paths; None if the path that a value stands for is unknown."""
    for key, text in config.items():
        # Spark ignores the case of options.
        option, value = key.removeprefix(_OPTION).lower() if key.startswith(_OPTION) else "", java_trim(text)
        if key in ("spark.path", "spark.checkpoint") or option in ("path", "avroschemaurl"):
            if value and (path := local_path(value)) is not None:
                yield key, path
        elif option == "paths" or option.startswith("fs.") or (key == "spark.table" and "/" in value):
            yield key, None


def local_path(value: str) -> str | None:
    """The local path of a path as Hadoop reads it; None if it is on another file system."""
    scheme, path = "", value
    if match := _SCHEME.fullmatch(value):
        scheme, path = match[1], match[2]
    return path or "/" if scheme.lower() in _LOCAL else None

"""`headrace.file.paths`: the folders of local file systems that the bundled file connectors may use.

Paths are compared after symbolic links have been resolved. Java connectors and other plugins read their own keys, which
cannot be checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from runtime.api.config.types import java_trim
from runtime.api.errors import ConfigError

_WRAPPERS = (
    "async_wrapper", "blockcache", "cached", "dir", "filecache", "generic", "git", "libarchive", "reference",
    "simplecache", "tar", "zip",
)  # fmt: skip
"""fsspec's file systems that consist of another one, which may be local."""
_LOCAL_OF_FILES = ("", "file", "local")
_LOCAL_OF_SPARK = ("", "file", "pfile")
_OPTION = "spark.option."
_SCHEME = re.compile(r"([^/:]*):(?://[^/]*)?(.*)", re.DOTALL)


class FilePathLimit:
    """Finds the paths in a connector's configuration that are below none of the folders."""

    def __init__(self, folders: Sequence[str]) -> None:
        """Without folders every path is allowed."""
        self._folders = tuple(Path(folder).resolve() for folder in folders)

    def refused(self, config: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The keys of paths that are not allowed, with what is wrong. Variables in `config` have been resolved."""
        name = re.split(r"[.:]", config.get("connector.class", "").strip())[-1].removesuffix("Connector")
        find = _CONNECTORS.get(name)
        if not self._folders or find is None:
            return
        for key, path in find(config):
            if path is None:
                yield key, "not allowed with headrace.file.paths, since its paths cannot be checked"
            elif not any(Path(path).resolve().is_relative_to(folder) for folder in self._folders):
                yield key, "not below one of headrace.file.paths"


_Paths = Iterator[tuple[str, str | None]]
"""Keys with their local paths; None if the path that a value stands for is unknown."""


def _stream(config: Mapping[str, str]) -> _Paths:
    if path := java_trim(config.get("file", "")):
        yield "file", path


def _files(config: Mapping[str, str]) -> _Paths:
    for key in ("url", "archive.url"):
        value = java_trim(config.get(key, ""))
        if not value:
            continue
        parts = urlsplit(value)
        if parts.scheme in _LOCAL_OF_FILES:
            yield key, parts.path or "/"
        elif "::" in value or parts.scheme in _WRAPPERS:
            yield key, None


def _spark(config: Mapping[str, str]) -> _Paths:
    for key, text in config.items():
        option, value = key.removeprefix(_OPTION).lower() if key.startswith(_OPTION) else "", java_trim(text)
        if key in ("spark.path", "spark.checkpoint") or option in (
            "path",
            "avroschemaurl",
        ):  # Spark ignores the case of options
            if value and (path := _path_of_spark(value)) is not None:
                yield key, path
        elif option == "paths" or option.startswith("fs.") or (key == "spark.table" and "/" in value):
            yield key, None


def _jdbc(config: Mapping[str, str]) -> _Paths:
    """Imports SQLAlchemy, whose reading of the URL is the one that counts. An invalid URL has errors of its own."""
    try:
        from runtime.connectors.jdbc.url_parameters import local_paths
        from runtime.connectors.jdbc.urls import database_url

        yield from (("connection.url", path) for path in local_paths(database_url(config.get("connection.url", ""))))
    except (ConfigError, ImportError):
        return


def _path_of_spark(value: str) -> str | None:
    """The local path of a path as Hadoop reads it; None if it is on another file system."""
    scheme, path = "", value
    if found := _SCHEME.fullmatch(value):
        scheme, path = found[1], found[2]
    return path or "/" if scheme.lower() in _LOCAL_OF_SPARK else None


_CONNECTORS: Mapping[str, Callable[[Mapping[str, str]], _Paths]] = {
    "FileStreamSource": _stream,
    "FileStreamSink": _stream,
    "JdbcSource": _jdbc,
    "JdbcSink": _jdbc,
    "FilesSource": _files,
    "FilesSink": _files,
    "SparkSink": _spark,
    "SparkSource": _spark,
}

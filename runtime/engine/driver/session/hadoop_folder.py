"""A folder on any file system of Hadoop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class HadoopFolder:
    """Files and folders below a path; names are relative to it. Thread-safe."""

    def __init__(self, session: Any, path: str, *names: str) -> None:
        self._session, self._jvm = session, session._jvm
        self._root = _path(self._jvm, path, names)
        self._fs = self._root.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())

    def below(self, *names: str) -> HadoopFolder:
        """A folder below this one, which need not exist."""
        return HadoopFolder(self._session, str(self._root.toString()), *names)

    def uri(self, *names: str) -> str:
        """The full URI, as Spark takes it."""
        return str(self._fs.makeQualified(self._at(names)).toString())

    def exists(self, *names: str) -> bool:
        """Whether the file or folder exists."""
        return bool(self._fs.exists(self._at(names)))

    def names(self, *names: str) -> list[str]:
        """The names in a folder; empty if it does not exist."""
        if not self.exists(*names):
            return []
        return [str(status.getPath().getName()) for status in self._fs.listStatus(self._at(names))]

    def create(self, *names: str) -> None:
        """Create a folder with its parents."""
        self._fs.mkdirs(self._at(names))

    def delete(self, *names: str) -> None:
        """Delete a file or a folder with its content, if it exists."""
        self._fs.delete(self._at(names), True)

    def local(self, *names: str) -> str | None:
        """The path if the file system is that of this machine."""
        uri = self._fs.makeQualified(self._at(names)).toUri()
        return str(uri.getPath()) if uri.getScheme() == "file" else None

    def copy_to(self, local: str, *names: str) -> None:
        """Copy a file to a path on this machine."""
        target = _path(self._jvm, f"file://{local}", ())
        self._fs.copyToLocalFile(False, self._at(names), target, True)

    def _at(self, names: Sequence[str]) -> Any:
        return _path(self._jvm, self._root, names)


def _path(jvm: Any, first: Any, names: Sequence[str]) -> Any:
    path = jvm.org.apache.hadoop.fs.Path(first) if isinstance(first, str) else first
    for name in names:
        path = jvm.org.apache.hadoop.fs.Path(path, name)
    return path

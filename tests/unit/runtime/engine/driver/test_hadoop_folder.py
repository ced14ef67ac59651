"""A file of a checkpoint is never missing after a driver was killed while it replaced the file."""

from __future__ import annotations

from pathlib import Path, PosixPath
from types import SimpleNamespace
from typing import Any

import pytest

from runtime.engine.driver.session.source.checkpoint import HadoopFolder


class Killed(Exception):
    """The driver ends here."""


class DiskFiles:
    """Hadoop's FileSystem on a disk, which ends the driver before its n-th change; it does not rename over a file."""

    def __init__(self, changes: int) -> None:
        self._left = changes

    def _change(self) -> None:
        if not self._left:
            raise Killed
        self._left -= 1

    def exists(self, path: Path) -> bool:
        return path.exists()

    def open(self, path: Path) -> Any:
        return path.open("rb")

    def create(self, path: Path, overwrite: bool) -> Any:
        self._change()
        stream = path.open("wb")

        def write(data: bytes) -> None:
            self._change()
            stream.write(data)

        return SimpleNamespace(write=write, close=stream.close)

    def delete(self, path: Path, recursive: bool) -> None:
        self._change()
        path.unlink(missing_ok=True)

    def rename(self, source: Path, target: Path) -> bool:
        self._change()
        if target.exists():
            return False
        source.rename(target)
        return True


class DiskPath(PosixPath):
    """A Path of Hadoop."""

    def getFileSystem(self, files: DiskFiles) -> DiskFiles:
        return files


def _folder(path: Path, changes: int = 100) -> HadoopFolder:
    files = DiskFiles(changes)
    state = SimpleNamespace(newHadoopConf=lambda: files)
    text = SimpleNamespace(toString=lambda stream, charset: stream.read().decode(charset))
    hadoop = SimpleNamespace(fs=SimpleNamespace(Path=DiskPath))
    commons = SimpleNamespace(io=SimpleNamespace(IOUtils=text))
    jvm = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(hadoop=hadoop, commons=commons)))
    session = SimpleNamespace(_jvm=jvm, _jsparkSession=SimpleNamespace(sessionState=lambda: state))
    return HadoopFolder(session, str(path))


@pytest.mark.parametrize("first", range(7))
@pytest.mark.parametrize("second", range(8))
def test_a_replaced_file_has_a_whole_text_wherever_drivers_are_killed(tmp_path: Path, first: int, second: int) -> None:
    _folder(tmp_path).write("1", "query.json")
    texts = {"1"}
    for text, changes in (("2", first), ("3", second)):
        texts.add(text)
        try:
            _folder(tmp_path, changes).write(text, "query.json")
        except Killed:
            continue
        texts = {text}
    assert _folder(tmp_path).read("query.json") in texts


@pytest.mark.parametrize("changes", range(3))
def test_a_file_that_was_not_written_completely_does_not_exist(tmp_path: Path, changes: int) -> None:
    with pytest.raises(Killed):
        _folder(tmp_path, changes).write("1", "query.json")
    assert _folder(tmp_path).read("query.json") is None

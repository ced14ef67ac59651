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
        self.fails = ""
        """The operation that reports a failure by its result, as Hadoop's file systems do."""

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

    def mkdirs(self, path: Path) -> bool:
        return self.fails != "mkdirs"

    def delete(self, path: Path, recursive: bool) -> bool:
        self._change()
        if self.fails == "delete" or not path.exists():
            return False
        path.unlink()
        return True

    def rename(self, source: Path, target: Path) -> bool:
        self._change()
        if self.fails == "rename" or target.exists():
            return False
        source.rename(target)
        return True


class DiskPath(PosixPath):
    """A Path of Hadoop."""

    def getFileSystem(self, files: DiskFiles) -> DiskFiles:
        return files

    def toString(self) -> str:
        return str(self)


def _folder(path: Path, changes: int = 100, fails: str = "") -> HadoopFolder:
    files = DiskFiles(changes)
    files.fails = fails
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


@pytest.mark.parametrize("fails", ["rename", "delete"])
def test_a_file_system_that_refuses_a_change_is_an_error_and_no_file_is_lost(tmp_path: Path, fails: str) -> None:
    _folder(tmp_path).write("1", "query.json")
    with pytest.raises(OSError, match=rf"Cannot {fails} /"):
        _folder(tmp_path, fails=fails).write("2", "query.json")
    assert _folder(tmp_path).read("query.json") in ("1", "2")
    _folder(tmp_path).write("3", "query.json")
    assert _folder(tmp_path).read("query.json") == "3"


def test_an_interrupted_write_that_cannot_be_finished_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        _folder(tmp_path, 3).write("1", "query.json")
    (tmp_path / ".query.json.ready").write_text("1")
    with pytest.raises(OSError, match="Cannot rename"):
        _folder(tmp_path, fails="rename").read("query.json")


def test_folders_that_cannot_be_created_or_deleted_are_errors(tmp_path: Path) -> None:
    (tmp_path / "offsets").touch()
    with pytest.raises(OSError, match="Cannot delete /"):
        _folder(tmp_path, fails="delete").delete("offsets")
    with pytest.raises(OSError, match="Cannot create the folder /"):
        _folder(tmp_path, fails="mkdirs").create("spool")
    _folder(tmp_path).delete("missing")

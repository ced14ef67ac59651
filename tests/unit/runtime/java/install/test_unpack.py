"""Archives: their layout, and entries that point elsewhere."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from runtime.java.install.errors import InstallError
from runtime.java.install.unpack import unpack
from tests.support.java.maven_repository import tar_gz


def test_the_single_folder_of_an_archive_is_removed(tmp_path: Path) -> None:
    archive = tmp_path / "plugin.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("plugin-1/plugin-1/a.jar", b"a")
        file.writestr("plugin-1/lib/b.jar", b"b")
    unpack(archive, tmp_path / "out", 1 << 20)
    found = [str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.jar")]
    assert sorted(found) == ["lib/b.jar", "plugin-1/a.jar"]


@pytest.mark.parametrize("name", ["../evil.jar", "/tmp/evil.jar", "lib/../../evil.jar"])
def test_entries_outside_are_refused(name: str, tmp_path: Path) -> None:
    zipped, tarred = tmp_path / "a.zip", tmp_path / "a.tar.gz"
    with zipfile.ZipFile(zipped, "w") as file:
        file.writestr(name, b"x")
    with pytest.raises(InstallError, match="outside the plugin's folder"):
        unpack(zipped, tmp_path / "one", 1 << 20)
    tarred.write_bytes(tar_gz({name: b"x"}))
    with pytest.raises(InstallError, match="outside the plugin's folder"):
        unpack(tarred, tmp_path / "two", 1 << 20)
    assert not (tmp_path / "evil.jar").exists()


def test_damaged_archives_are_reported(tmp_path: Path) -> None:
    archive = tmp_path / "half.tar.gz"
    archive.write_bytes(tar_gz({"a.jar": b"x" * 1000})[:-20])
    with pytest.raises(InstallError, match=r"half\.tar\.gz cannot be unpacked"):
        unpack(archive, tmp_path / "out", 1 << 20)

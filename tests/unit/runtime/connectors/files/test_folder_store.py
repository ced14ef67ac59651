"""Folders on file systems: complete files, temporary files, errors without secrets."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from runtime.api.errors import ConfigError
from runtime.connectors.files.folder_store import FileError, FolderStore
from runtime.connectors.files.location import FileLocation, location_keys
from runtime.connectors.files.sink.connector import FilesSinkConnector


def _location(url: str, **more: str) -> FileLocation:
    from runtime.api.config.definition import ConfigDef

    config = {"url": url, **{key.replace("_", "."): value for key, value in more.items()}}
    return FileLocation.of(ConfigDef(*location_keys("")).parse(config))


def _text(text: bytes) -> Callable[[BinaryIO], None]:
    def fill(out: BinaryIO) -> None:
        out.write(text)

    return fill


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    store = FolderStore(_location(f"file://{tmp_path}/out"))
    assert store.list_files() == []

    def fill(out: BinaryIO) -> None:
        out.write(b"some text")
        out.flush()
        assert store.find("a/b.txt") is None and store.list_files() == []
        (temporary,) = (tmp_path / "out/a").iterdir()
        assert temporary.name.startswith(".b.txt.") and temporary.name.endswith(".part")

    assert store.write("a/b.txt", fill) == 9
    assert [(file.path, file.size) for file in store.list_files()] == [("a/b.txt", 9)]
    assert store.read("a/b.txt") == b"some text" and store.read("a/c.txt") is None
    store.delete("a/b.txt")
    store.delete("a/b.txt")
    assert store.list_files() == []


def test_links_to_folders_above_are_not_followed_again(tmp_path: Path) -> None:
    below = tmp_path / "a" / "below"
    below.mkdir(parents=True)
    (below / "x.txt").write_text("x")
    for folder, target in ((tmp_path, tmp_path / "a"), (tmp_path / "a", tmp_path), (below, below), (below, "none")):
        (folder / f"to-{Path(target).name}").symlink_to(target)
    (below / "itself").symlink_to("itself")
    listed = [file.path for file in FolderStore(_location(str(tmp_path))).list_files()]
    assert sorted(listed) == ["a/below/x.txt", "to-a/below/x.txt"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    store = FolderStore(_location(str(tmp_path)))
    store.write("a.txt", _text(b"old"))

    def fail(out: BinaryIO) -> None:
        out.write(b"new")
        raise OSError("the disk is full")

    with pytest.raises(FileError, match=f"Cannot write a.txt in {tmp_path}: the disk is full"):
        store.write("a.txt", fail)
    assert store.read("a.txt") == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


UNMOUNTED = """
import subprocess, sys
from runtime.connectors.files.folder_store import FileError, FolderStore
from tests.unit.runtime.connectors.files.test_folder_store import _location, _text
disk, folder = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", disk], check=True)
store = FolderStore(_location(folder))
print(store.write("a/b.txt", _text(b"text")))
subprocess.run(["umount", disk], check=True)
try:
    store.write("a/c.txt", _text(b"text"))
except FileError as error:
    print(error)
"""


@pytest.mark.parametrize("folder", ["", "warehouse"])
def test_nothing_is_written_below_a_disk_that_is_not_mounted_any_more(tmp_path: Path, folder: str) -> None:
    """In name spaces of its own, where any user may mount a disk."""
    disk = tmp_path / "disk"
    disk.mkdir()
    (tmp_path / "link").symlink_to(disk)
    command = ["unshare", "--user", "--map-root-user", "--mount", sys.executable, "-c", UNMOUNTED]
    arguments = [str(disk), str(tmp_path / "link" / folder)]
    done = subprocess.run(
        [*command, *arguments], cwd=Path(__file__).parents[5], capture_output=True, text=True, check=True
    )
    written, refusal = done.stdout.splitlines()
    assert written == "4"
    assert refusal.startswith("Cannot write a/c.txt in ") and refusal.endswith(f": {disk} is not mounted any more")
    assert list(disk.iterdir()) == []


@pytest.mark.parametrize("folder", ["x" * 300, "loop"])
def test_a_folder_that_cannot_be_opened_is_named(tmp_path: Path, folder: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FileError, match=f"Cannot list {tmp_path / folder}: "):
        FolderStore(_location(str(tmp_path / folder))).list_files()


def test_other_file_systems_are_those_of_fsspec() -> None:
    store = FolderStore(_location("memory://bucket/test-folder"))
    store.write("a/b.txt", _text(b"text"))
    assert [file.path for file in store.list_files()] == ["a/b.txt"]
    assert store.read("a/b.txt") == b"text"
    store.delete("a/b.txt")


@pytest.mark.parametrize(
    ("url", "kind", "folder"),
    [
        ("/data/x/", "local", "/data/x"),
        ("s3://bucket/a/b", "s3", "bucket/a/b"),
        ("gs://bucket", "gcs", "bucket"),
        ("abfs://container/a", "azure", "container/a"),
    ],
)
def test_urls_name_file_systems(url: str, kind: str, folder: str) -> None:
    location = _location(url)
    assert (location.kind, location.folder) == (kind, folder)


def test_cloud_file_systems_take_their_keys() -> None:
    key = "c2VjcmV0LWtleS1vZi10ZXN0"
    for location in (
        _location("gs://bucket/x", gcs_anonymous="true"),
        _location("abfs://container/x", azure_account_name="test", azure_account_key=key),
    ):
        assert not FolderStore(location).on_disk


def test_errors_contain_no_secrets() -> None:
    location = _location("memory2://x/y", fsspec_options='{"token": "very-secret"}')
    with pytest.raises(FileError) as raised:
        FolderStore(location)
    assert "memory2" in str(raised.value) and "very-secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ({"url": "s3://user:secret@bucket/x"}, "url"),
        ({"url": "s3:///x"}, "url"),
        ({"url": "/x", "compression": "deflate"}, "compression"),
        ({"url": "s3://b/x", "s3.access.key.id": "id"}, "s3.secret.access.key"),
        ({"url": "abfs://c/x"}, "azure.account.name"),
        ({"url": "/x", "fsspec.options": "[1]"}, "fsspec.options"),
    ],
)
def test_invalid_configurations_name_the_key(config: dict[str, str], name: str) -> None:
    errors = {value.name: value.errors for value in FilesSinkConnector().validate(config) if value.errors}
    assert list(errors) == [name]
    assert "secret@" not in str(errors)


def test_a_connector_with_invalid_keys_does_not_start() -> None:
    with pytest.raises(ConfigError, match="parquet supports snappy"):
        FilesSinkConnector().start({"url": "/x", "compression": "bz2"})


def test_a_missing_pyarrow_is_reported_with_the_package_to_install() -> None:
    program = """
import importlib.util, sys
class NoPyarrow:
    def find_spec(self, name, path=None, target=None):
        return None
from runtime.connectors.files.sink.connector import FilesSinkConnector
sys.meta_path[:] = [NoPyarrow()]
print([value.errors for value in FilesSinkConnector().validate({"url": "/x"}) if value.name == "url"])
"""
    folder = Path(__file__).parents[5]
    done = subprocess.run([sys.executable, "-c", program], check=True, cwd=folder, timeout=60, capture_output=True)
    assert b"pip install 'headrace[runtime]'" in done.stdout


def test_loading_and_validating_the_connectors_imports_no_pyarrow() -> None:
    program = """
import sys
from runtime.connectors.files.sink.connector import FilesSinkConnector
from runtime.connectors.files.source.connector import FilesSourceConnector
FilesSinkConnector().validate({"url": "/x"})
FilesSourceConnector().validate({"url": "/x", "topic": "t"})
sys.exit("pyarrow" in sys.modules or "fsspec" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(__file__).parents[5], timeout=60)

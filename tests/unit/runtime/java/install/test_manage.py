"""Plugins from local archives, updates, removals and lock files."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.java.install.coordinate import Coordinate
from runtime.java.install.errors import InstallError
from runtime.java.install.installer import install, remove, update
from runtime.java.install.local_archive import LocalArchive
from runtime.java.install.lock_file import install_locked, lock
from runtime.java.install.resolver import Repositories
from tests.support.java.connect_jars import connect_jars
from tests.support.java.maven_repository import MavenRepository, empty_jar


@pytest.fixture(scope="session")
def connector() -> bytes:
    """A jar with a source and a sink connector."""
    return (connect_jars() / "connect-file-4.3.0.jar").read_bytes()


@pytest.fixture
def repository(connector: bytes, tmp_path: Path) -> Iterator[MavenRepository]:
    """With the releases 1.0, 1.9 and 1.10 of a plugin, and a candidate of 2.0."""
    with MavenRepository(tmp_path / "repository") as repository:
        for version in ("1.0", "1.9", "1.10", "2.0-rc1"):
            repository.add(f"plugin:{version}", "", connector)
        repository.add_versions("plugin", "1.0", "1.9", "1.10", "2.0-rc1")
        yield repository


def _places(repository: MavenRepository, tmp_path: Path) -> Repositories:
    return Repositories(repository.url, folder=tmp_path / "local")


def _hub_archive(folder: Path, connector: bytes) -> Path:
    """An archive with the layout of Confluent Hub, which contains jars of Kafka."""
    manifest = {"name": "kafka-connect-lines", "version": "2.1", "owner": {"username": "example"}}
    file = folder / "example-kafka-connect-lines-2.1.zip"
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in {
            "manifest.json": json.dumps(manifest).encode(), "doc/README.md": b"x", "lib/lines-2.1.jar": connector,
            "lib/kafka-clients-3.6.0.jar": empty_jar("k"), "lib/slf4j-api-1.7.36.jar": empty_jar("s"),
            "lib/kafka-clients-tools-1.0.jar": empty_jar("t"),
        }.items():  # fmt: skip
            archive.writestr(f"example-kafka-connect-lines-2.1/{name}", content)
    return file


def test_an_archive_of_confluent_hub_is_installed_without_its_jars_of_kafka(connector: bytes, tmp_path: Path) -> None:
    archive = LocalArchive.parse(str(_hub_archive(tmp_path, connector)))
    assert archive is not None
    done = install(archive, tmp_path / "plugins")
    assert done.folder.name == "kafka-connect-lines-2.1" and len(done.plugins) == 2
    assert done.left_out == ["kafka-clients-3.6.0.jar", "slf4j-api-1.7.36.jar"]
    assert sorted(jar.name for jar in done.folder.rglob("*.jar")) == ["kafka-clients-tools-1.0.jar", "lines-2.1.jar"]
    assert not install(archive, tmp_path / "plugins").is_new
    assert LocalArchive.parse("org.example:plugin:1.0:plugin@zip") is None
    with pytest.raises(InstallError, match=r"missing\.zip does not exist"):
        LocalArchive.parse(str(tmp_path / "missing.zip"))


def test_the_name_in_a_manifest_cannot_lead_elsewhere(connector: bytes, tmp_path: Path) -> None:
    file = tmp_path / "evil.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("evil/manifest.json", json.dumps({"name": "../../evil", "version": "1"}))
        archive.writestr("evil/lib/a.jar", connector)
    with pytest.raises(InstallError, match=r"evil\.zip is refused"):
        LocalArchive.parse(str(file))


def test_a_missing_version_is_reported_with_the_versions_that_exist(
    repository: MavenRepository, tmp_path: Path
) -> None:
    progress = io.StringIO()
    with pytest.raises(InstallError) as refused:
        install(
            Coordinate.parse("org.example:plugin:3.0"),
            tmp_path / "plugins",
            repositories=_places(repository, tmp_path),
            progress=progress,
        )
    message = str(refused.value)
    assert message.index("could not be resolved") < message.index("the newest last: 1.0, 1.9, 1.10, 2.0-rc1.")
    assert "POM" not in progress.getvalue()


def test_a_plugin_is_updated_to_the_newest_release_and_removed(repository: MavenRepository, tmp_path: Path) -> None:
    into, places, quiet = tmp_path / "plugins", _places(repository, tmp_path), io.StringIO()
    install(Coordinate.parse("org.example:plugin:1.0"), into, repositories=places, progress=quiet)
    done = update("plugin", into, None, repositories=places, progress=quiet)
    assert (done.coordinate.version, done.removed) == ("1.10", into / "plugin-1.0")
    assert [folder.name for folder in into.iterdir()] == ["plugin-1.10"]
    assert update("plugin", into, None, repositories=places, progress=quiet).removed is None
    assert update("plugin-1.10", into, "1.9", repositories=places, progress=quiet).coordinate.version == "1.9"
    with pytest.raises(InstallError, match=r"has no plugin other: plugin-1\.9"):
        remove("other", into)
    (into / "own-1.0").mkdir()
    with pytest.raises(InstallError, match="was not installed by this command"):
        remove("own", into)
    assert remove("plugin", into) == into / "plugin-1.9"
    assert [folder.name for folder in into.iterdir()] == ["own-1.0"]


def test_a_lock_file_installs_the_same_jars_or_nothing(
    repository: MavenRepository, connector: bytes, tmp_path: Path
) -> None:
    into, places, quiet = tmp_path / "plugins", _places(repository, tmp_path), io.StringIO()
    archive = LocalArchive.parse(str(_hub_archive(tmp_path, connector)))
    assert archive is not None
    install(archive, into)
    install(Coordinate.parse("org.example:plugin:1.9"), into, repositories=places, progress=quiet)
    file = tmp_path / "plugins.lock"
    assert len(lock(into, file)) == 2
    again = dict(install_locked(file, tmp_path / "other", places, quiet))
    assert [done.folder.name for done in again.values()] == ["kafka-connect-lines-2.1", "plugin-1.9"]
    assert all(not done.is_new for _, done in install_locked(file, tmp_path / "other", places, quiet))

    content = json.loads(file.read_text())
    content["plugins"][1]["sha256"]["plugin-1.9.jar"] = "0"
    file.write_text(json.dumps(content))
    with pytest.raises(InstallError, match=r"plugin-1\.9\.jar has another checksum than in the lock file"):
        dict(install_locked(file, tmp_path / "third", places, quiet))
    assert [folder.name for folder in (tmp_path / "third").iterdir()] == ["kafka-connect-lines-2.1"]

    (into / "plugin-1.9" / "plugin-1.9.jar").write_bytes(empty_jar("changed"))
    with pytest.raises(InstallError, match="has been changed since its installation"):
        lock(into, file)

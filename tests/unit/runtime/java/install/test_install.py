"""Installation from a repository on loopback, with Maven's rules for dependencies."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.java.install.coordinate import Coordinate
from runtime.java.install.errors import InstallError
from runtime.java.install.installer import Installed, install
from runtime.java.install.resolver import Repositories
from tests.support.java.connect_jars import connect_jars
from tests.support.java.maven_repository import MavenRepository, dependencies, dependency, tar_gz

_MANAGED = "<dependencyManagement>{}</dependencyManagement>"


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[MavenRepository]:
    with MavenRepository(tmp_path / "repository") as repository:
        yield repository


@pytest.fixture(scope="session")
def connector() -> bytes:
    """A jar with a source and a sink connector."""
    folder = connect_jars()
    return (folder / "connect-file-4.3.0.jar").read_bytes()


def _install(text: str, repository: MavenRepository, folder: Path, offline: bool = False) -> Installed:
    places = Repositories(repository.url, offline, folder / "local")
    return install(Coordinate.parse(text), folder / "plugins", repositories=places, progress=io.StringIO())


def _add_tree(repository: MavenRepository, connector: bytes) -> None:
    """A parent, a bill of materials, properties, scopes, an exclusion, an optional dependency, a conflict, a profile
    for a version of Java."""
    managed = dependencies(
        dependency("org.example:managed:${managed.version}"),
        dependency("org.example:bom:1", "<type>pom</type><scope>import</scope>"),
    )
    repository.add("bom:1", _MANAGED.format(dependencies(dependency("org.example:of-bom:7"))), packaging="pom")
    repository.add(
        "parent:1",
        f"<properties><managed.version>3</managed.version></properties>{_MANAGED.format(managed)}",
        packaging="pom",
    )
    excluded = "<exclusions><exclusion><groupId>*</groupId><artifactId>excluded</artifactId></exclusion></exclusions>"
    repository.add(
        "plugin:1.0",
        "<parent><groupId>org.example</groupId><artifactId>parent</artifactId><version>1</version></parent>"
        + dependencies(
            dependency("org.example:far:1.0", excluded),
            dependency("org.example:near:1.0"),
            dependency("org.example:managed"),
            dependency("org.example:of-bom"),
            dependency("org.example:runs:1", "<scope>runtime</scope>"),
            dependency("org.example:tests:1", "<scope>test</scope>"),
            dependency("org.example:given:1", "<scope>provided</scope>"),
            dependency("org.example:optional:1", "<optional>true</optional>"),
            dependency("org.apache.kafka:connect-api:4.3.0"),
        ),
        connector,
    )
    profile = "<profiles><profile><id>old</id><activation><jdk>(,11)</jdk></activation></profile></profiles>"
    far = dependencies(dependency("org.example:further:1"), dependency("org.example:excluded:1"))
    repository.add("far:1.0", f"{profile}{far}")
    repository.add("further:1", dependencies(dependency("org.example:shared:2")))
    repository.add(
        "near:1.0", dependencies(dependency("org.example:shared:1"), dependency("org.slf4j:slf4j-api:1.7.36"))
    )
    for leaf in ("shared:1", "shared:2", "managed:3", "of-bom:7", "runs:1"):
        repository.add(leaf)


def test_a_jar_with_its_dependencies(repository: MavenRepository, connector: bytes, tmp_path: Path) -> None:
    _add_tree(repository, connector)
    done = _install("org.example:plugin:1.0", repository, tmp_path)
    assert done.is_new and done.folder == tmp_path / "plugins" / "plugin-1.0"
    expected = ["far-1.0", "further-1", "managed-3", "near-1.0", "of-bom-7", "plugin-1.0", "runs-1", "shared-1"]
    assert sorted(file.stem for file in done.folder.glob("*.jar")) == expected
    assert [plugin.cls.rpartition(".")[2] for plugin in done.plugins] == [
        "FileStreamSinkConnector", "FileStreamSourceConnector",
    ]  # fmt: skip
    assert all(plugin.jar.exists() and plugin.location == done.folder for plugin in done.plugins)
    record = json.loads((done.folder / "headrace-plugin.json").read_text())
    assert record["coordinate"] == "org.example:plugin:1.0" and len(record["sha256"]) == len(expected)
    assert [file.name for file in (tmp_path / "plugins").iterdir()] == ["plugin-1.0"]

    # Again: nothing is requested. Elsewhere, offline: everything is there already.
    before = len(repository.requested)
    again = _install("org.example:plugin:1.0", repository, tmp_path)
    assert not again.is_new and list(again.plugins) == list(done.plugins)
    repository.stop()
    places = Repositories(repository.url, offline=True, folder=tmp_path / "local")
    coordinate = Coordinate.parse("org.example:plugin:1.0")
    elsewhere = install(coordinate, tmp_path / "other", repositories=places, progress=io.StringIO())
    assert elsewhere.is_new and len(repository.requested) == before


def test_a_plugin_archive(repository: MavenRepository, connector: bytes, tmp_path: Path) -> None:
    archive = tar_gz({"plugin/plugin-1.0.jar": connector, "plugin/lib/driver.jar": b"", "plugin/README.md": b"x"})
    repository.put("plugin", "1.0", "-plugin.tar.gz", archive)
    done = _install("org.example:plugin:1.0:plugin@tar.gz", repository, tmp_path)
    assert (done.folder / "plugin-1.0.jar").read_bytes() == connector and (done.folder / "lib" / "driver.jar").exists()
    assert len(done.plugins) == 2
    with pytest.raises(InstallError, match=r"plugin-1\.0 exists and contains org\.example:plugin:1\.0:plugin@tar\.gz"):
        _install("org.example:plugin:1.0", repository, tmp_path)


def test_a_wrong_checksum_is_refused(repository: MavenRepository, connector: bytes, tmp_path: Path) -> None:
    repository.add("plugin:1.0", "", connector)
    file = repository.put("plugin", "1.0", ".jar", connector)
    file.write_bytes(connector[:-1] + b"x")
    with pytest.raises(InstallError, match=r"org\.example:plugin:1\.0 could not be resolved: .*[Cc]hecksum"):
        _install("org.example:plugin:1.0", repository, tmp_path)
    assert not (tmp_path / "plugins").exists()
    # The failure is not remembered.
    repository.put("plugin", "1.0", ".jar", connector)
    assert _install("org.example:plugin:1.0", repository, tmp_path).is_new


def test_missing_artifacts_and_artifacts_without_plugins(repository: MavenRepository, tmp_path: Path) -> None:
    with pytest.raises(InstallError, match=r"org\.example:absent:1 could not be resolved: .*absent:jar:1.*Check group"):
        _install("org.example:absent:1", repository, tmp_path)
    repository.add("library:1")
    with pytest.raises(InstallError, match=r"org\.example:library:1 contains no plugin"):
        _install("org.example:library:1", repository, tmp_path)
    assert not list((tmp_path / "plugins").iterdir())
    with pytest.raises(InstallError, match=r"Without --offline it is downloaded"):
        _install("org.example:other:1", repository, tmp_path, offline=True)


def test_a_folder_of_another_origin_is_kept(repository: MavenRepository, tmp_path: Path) -> None:
    jar = tmp_path / "plugins" / "plugin-1.0" / "own.jar"
    jar.parent.mkdir(parents=True)
    jar.touch()
    with pytest.raises(InstallError, match=r"plugin-1\.0 exists and was not installed by this command"):
        _install("org.example:plugin:1.0", repository, tmp_path)
    assert jar.exists() and not repository.requested


def test_passwords_in_the_repository_are_refused_and_not_repeated(tmp_path: Path) -> None:
    places = Repositories("https://user:secret@127.0.0.1/", folder=tmp_path / "local")
    with pytest.raises(InstallError, match="must not contain a user name") as refused:
        install(Coordinate.parse("a:b:1"), tmp_path, repositories=places)
    assert "secret" not in str(refused.value)

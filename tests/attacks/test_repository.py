"""A hostile Maven repository, from which an operator installs a plugin."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.java.discovery.class_index import Archive, UnreadableArchiveError
from runtime.java.install.coordinate import Coordinate
from runtime.java.install.errors import InstallError
from runtime.java.install.installer import Installed, install
from runtime.java.install.resolver import Repositories
from runtime.java.install.unpack import unpack
from tests.support.java.connect_jars import connect_jars
from tests.support.java.maven_repository import MavenRepository, dependencies, dependency
from tests.support.servers.loopback import Handler, serving

MB = 1 << 20
SECRET = "s3cretOfTheOperator"


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[MavenRepository]:
    with MavenRepository(tmp_path / "repository") as repository:
        yield repository


def _install(text: str, url: str, folder: Path, largest: int = 64 * MB, output: io.StringIO | None = None) -> Installed:
    places = Repositories(url, folder=folder / "local" / "maven", largest=largest)
    return install(Coordinate.parse(text), folder / "plugins", repositories=places, progress=output or io.StringIO())


def _connector() -> bytes:
    return (connect_jars() / "connect-file-4.3.0.jar").read_bytes()


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


# Archives and jars


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_an_archive_that_unpacks_to_gigabytes_is_refused(kind: str, tmp_path: Path) -> None:
    archive = tmp_path / f"bomb.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
            zipped.writestr("a.jar", bytes(8 * MB))
    else:
        with tarfile.open(archive, "w:gz") as tar:
            entry = tarfile.TarInfo("a.jar")
            entry.size = 8 * MB
            tar.addfile(entry, io.BytesIO(bytes(8 * MB)))
    with pytest.raises(InstallError, match="its content is larger than 1,048,576 bytes"):
        unpack(archive, tmp_path / "out", MB)
    assert sum(path.stat().st_size for path in (tmp_path / "out").rglob("*")) <= MB


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_in_an_archive_are_refused(kind: bytes, tmp_path: Path) -> None:
    archive = tmp_path / "links.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        entry = tarfile.TarInfo("lib")
        entry.type, entry.linkname = kind, "."
        tar.addfile(entry)
    with pytest.raises(InstallError, match="its entry 'lib' is neither a file nor a folder"):
        unpack(archive, tmp_path / "out", MB)


def test_a_link_in_a_zip_file_becomes_a_file(tmp_path: Path) -> None:
    archive = tmp_path / "links.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        entry = zipfile.ZipInfo("lib.jar")
        entry.external_attr = 0o120777 << 16
        zipped.writestr(entry, "/etc/passwd")
    unpack(archive, tmp_path / "out", MB)
    assert not (tmp_path / "out" / "lib.jar").is_symlink()


def test_an_archive_of_too_many_entries_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as zipped:
        for number in range(4):
            zipped.writestr(f"{number}.txt", b"")
    with pytest.raises(InstallError, match="more than 3 entries"):
        unpack(tmp_path / "a.zip", tmp_path / "out", MB, most_entries=3)


def test_a_class_that_inflates_without_limit_is_not_read(tmp_path: Path) -> None:
    jar = tmp_path / "bomb.jar"
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("Bomb.class", bytes(8 * MB))
        zipped.writestr("Good.class", bytes(MB))
    with Archive(jar, largest_entry=MB) as opened:
        assert len(opened.read("Good.class")) == MB
        with pytest.raises(UnreadableArchiveError, match="has more than 1,048,576 bytes"):
            opened.read("Bomb.class")


# POMs and files of the repository. Each starts a JVM.


@pytest.mark.soak
@pytest.mark.parametrize("part", ["artifact", "parent", "version", "classifier"])
def test_coordinates_in_a_pom_cannot_name_files_outside(part: str, repository: MavenRepository, tmp_path: Path) -> None:
    outside = "../../../../../outside"
    parent = f"<groupId>org.example</groupId><artifactId>{outside}</artifactId><version>1</version>"
    pom = {
        "artifact": dependencies(dependency(f"org.example:{outside}:1")),
        "parent": f"<parent>{parent}</parent>",
        "version": dependencies(dependency(f"org.example:a:{outside}")),
        "classifier": dependencies(dependency("org.example:a:1", f"<classifier>{outside}</classifier>")),
    }[part]
    repository.add("a:1")
    repository.add("evil:1", pom, _connector())
    output = io.StringIO()
    try:
        _install("org.example:evil:1", repository.url, tmp_path, output=output)
        assert "the POM of org.example:evil:jar:1 cannot be read" in output.getvalue()
    except InstallError as error:
        assert "is refused" in str(error)
    assert not [name for name in _files(tmp_path) if "outside" in name]
    assert not any("outside" in path for path in repository.requested)


@pytest.mark.soak
def test_entities_in_a_pom_read_no_file_and_take_no_memory(repository: MavenRepository, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    laughs = "".join(f'<!ENTITY l{n} "{10 * f"&l{n - 1};"}">' for n in range(1, 10))
    entities = f'<!DOCTYPE p [<!ENTITY l0 "ha">{laughs}<!ENTITY file SYSTEM "file://{tmp_path}/secret">]>'
    repository.add("evil:1", jar=_connector())
    pom = "<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId><artifactId>evil</artifactId>"
    content = f"{entities}{pom}<version>1</version><name>&file;&l9;</name></project>"
    repository.put("evil", "1", ".pom", content.encode())
    output = io.StringIO()
    assert _install("org.example:evil:1", repository.url, tmp_path, output=output).plugins
    assert "cannot be read" in output.getvalue() and SECRET not in output.getvalue()


@pytest.mark.soak
def test_a_file_with_another_checksum_is_refused(repository: MavenRepository, tmp_path: Path) -> None:
    repository.add("evil:1", jar=_connector())
    jar = repository.put("evil", "1", ".jar", _connector())
    jar.with_name(f"{jar.name}.sha1").write_text("0" * 40)
    with pytest.raises(InstallError, match="Checksum validation failed"):
        _install("org.example:evil:1", repository.url, tmp_path)
    assert not (tmp_path / "plugins").exists()


@pytest.mark.soak
def test_repositories_that_a_pom_declares_are_not_asked_without_tls(
    repository: MavenRepository, tmp_path: Path
) -> None:
    with MavenRepository(tmp_path / "other") as other:
        other.add("hidden:1", jar=_connector())
        for name, url in (("http", other.url), ("file", f"file://{tmp_path}/other/")):
            declared = f"<repositories><repository><id>central</id><url>{url}</url></repository></repositories>"
            repository.add(f"{name}:1", declared + dependencies(dependency("org.example:hidden:1")), _connector())
            with pytest.raises(InstallError, match="hidden"):
                _install(f"org.example:{name}:1", repository.url, tmp_path / name)
        assert not other.requested


@pytest.mark.soak
def test_files_of_one_repository_are_not_taken_for_those_of_another(
    repository: MavenRepository, tmp_path: Path
) -> None:
    repository.add("plugin:1", jar=_connector() + b"hostile")
    _install("org.example:plugin:1", repository.url, tmp_path)
    with MavenRepository(tmp_path / "trusted") as trusted:
        trusted.add("plugin:1", jar=_connector())
        (tmp_path / "plugins").rename(tmp_path / "removed")
        found = _install("org.example:plugin:1", trusted.url, tmp_path)
        assert (found.folder / "plugin-1.jar").read_bytes() == _connector()


class _Hostile(Handler):
    """Redirects POMs, unless there are none, and sends jars without end."""

    target = ""

    def do_GET(self) -> None:
        if not self.path.endswith(".jar"):
            self.send_response(302 if self.target else 404)
            self.send_header("Location", self.target)
            self.end_headers()
            return
        self.send_response(200)
        self.end_headers()
        try:
            while True:
                self.wfile.write(bytes(MB))
        except OSError:
            return  # the client has given up


@pytest.mark.soak
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("redirect", "reason"), [(True, "descriptor"), (False, "larger than 8388608 bytes")])
def test_a_redirect_to_a_file_and_an_endless_file_are_errors(
    redirect: bool, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text(SECRET)
    monkeypatch.setattr(_Hostile, "target", f"file://{tmp_path}/secret" if redirect else "")
    output = io.StringIO()
    with serving(_Hostile) as server, pytest.raises(InstallError, match=reason):
        _install("org.example:evil:1", f"{server.url}/", tmp_path, 8 * MB, output)
    assert SECRET not in output.getvalue()
    local = [path for path in (tmp_path / "local").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in local) < 16 * MB
    assert not any(SECRET in path.read_text(errors="replace") for path in local)

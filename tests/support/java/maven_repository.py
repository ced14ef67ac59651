"""A Maven repository of hand-made artifacts, served on loopback."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class MavenRepository:
    """Artifacts in a folder, and the paths that were requested. Use as a context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.requested: list[str] = []
        handler = partial(_Handler, self.requested, directory=str(folder))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> MavenRepository:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(self, coordinate: str, pom: str = "", jar: bytes | None = None, packaging: str = "jar") -> None:
        """Adds an artifact of group org.example, ARTIFACT:VERSION; `pom` is the inner XML beside the coordinate."""
        artifact, version = coordinate.split(":")
        document = (
            "<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>"
            f"<artifactId>{artifact}</artifactId><version>{version}</version><packaging>{packaging}</packaging>"
            f"{pom}</project>"
        )
        self.put(artifact, version, ".pom", document.encode())
        if packaging == "jar":
            self.put(artifact, version, ".jar", jar or empty_jar(coordinate))

    def add_versions(self, artifact: str, *versions: str) -> None:
        """Adds the list of an artifact's versions."""
        listed = "".join(f"<version>{version}</version>" for version in versions)
        content = (
            f"<metadata><groupId>org.example</groupId><artifactId>{artifact}</artifactId>"
            f"<versioning><versions>{listed}</versions></versioning></metadata>"
        ).encode()
        file = self.folder / "org" / "example" / artifact / "maven-metadata.xml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.with_name(f"{file.name}.sha1").write_text(hashlib.sha1(content).hexdigest())

    def put(self, artifact: str, version: str, suffix: str, content: bytes) -> Path:
        """Adds a file and its checksum."""
        file = self.folder / "org" / "example" / artifact / version / f"{artifact}-{version}{suffix}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        file.with_name(f"{file.name}.sha1").write_text(hashlib.sha1(content).hexdigest())
        return file


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, requested: list[str], *arguments: object, directory: str) -> None:
        self._requested = requested
        super().__init__(*arguments, directory=directory)  # type: ignore[arg-type]  # passed on as the server gives them

    def log_message(self, format: str, *args: object) -> None:
        self._requested.append(self.path)


def empty_jar(name: str) -> bytes:
    """A jar without classes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as jar:
        jar.writestr("META-INF/name.txt", name)
    return content.getvalue()


def tar_gz(files: dict[str, bytes]) -> bytes:
    """A tar.gz archive of these files."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def dependency(coordinate: str, more: str = "") -> str:
    """The XML of a dependency, GROUP:ARTIFACT[:VERSION]."""
    group, artifact, *version = coordinate.split(":")
    text = f"<version>{version[0]}</version>" if version else ""
    return f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId>{text}{more}</dependency>"


def dependencies(*entries: str) -> str:
    return f"<dependencies>{''.join(entries)}</dependencies>"

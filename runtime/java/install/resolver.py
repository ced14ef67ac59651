"""Runs Maven's resolver in a JVM, which ends with the request.

Resolver.java is compiled and run by the Janino that PySpark includes, so that a JRE is enough.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

from runtime.java.install.coordinate import Coordinate
from runtime.java.install.errors import InstallError
from runtime.java.jvm import jars
from runtime.java.jvm.java import find_java
from runtime.system.cache import cache_folder
from runtime.system.locks import LockHeldError, exclusive
from runtime.system.processes import die_with_parent

RESOLVER = (
    "com.google.code.gson:gson:2.13.1",
    "commons-codec:commons-codec:1.18.0",
    "org.apache.httpcomponents:httpclient:4.5.14",
    "org.apache.httpcomponents:httpcore:4.4.16",
    "org.apache.maven.resolver:maven-resolver-api:1.9.24",
    "org.apache.maven.resolver:maven-resolver-connector-basic:1.9.24",
    "org.apache.maven.resolver:maven-resolver-impl:1.9.24",
    "org.apache.maven.resolver:maven-resolver-named-locks:1.9.24",
    "org.apache.maven.resolver:maven-resolver-spi:1.9.24",
    "org.apache.maven.resolver:maven-resolver-supplier:1.9.24",
    "org.apache.maven.resolver:maven-resolver-transport-file:1.9.24",
    "org.apache.maven.resolver:maven-resolver-transport-http:1.9.24",
    "org.apache.maven.resolver:maven-resolver-util:1.9.24",
    "org.apache.maven:maven-artifact:3.9.10",
    "org.apache.maven:maven-builder-support:3.9.10",
    "org.apache.maven:maven-model-builder:3.9.10",
    "org.apache.maven:maven-model:3.9.10",
    "org.apache.maven:maven-repository-metadata:3.9.10",
    "org.apache.maven:maven-resolver-provider:3.9.10",
    "org.codehaus.plexus:plexus-interpolation:1.28",
    "org.codehaus.plexus:plexus-utils:3.6.0",
    "org.ow2.asm:asm:9.8",
    "org.slf4j:jcl-over-slf4j:1.7.36",
    "org.slf4j:slf4j-api:1.7.36",
    "org.slf4j:slf4j-nop:1.7.36",
)
"""org.apache.maven.resolver:maven-resolver-supplier:1.9.24 and a silent SLF4J binding."""

PROVIDED = (
    *(f"org.apache.kafka:{name}" for name in (
        "kafka-clients", "connect-api", "connect-json", "connect-runtime", "connect-transforms")),
    *(f"org.slf4j:{name}" for name in ("slf4j-api", "slf4j-simple", "slf4j-reload4j", "slf4j-log4j12", "slf4j-nop")),
)  # fmt: skip
"""Artifacts that a plugin gets from the worker, so that they are not installed."""


_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
LARGEST = 2 << 30
"""Bytes of a plugin. The largest of those in common use have 0.3 GB."""

_STEP = 25_000_000  # bytes between two lines of progress
_LISTED = 10  # versions in a message
_SILENCE = 60.0  # seconds; Maven waits half an hour for a server that no longer sends


@dataclass(frozen=True, slots=True)
class Repositories:
    """Where artifacts come from: `url` instead of the repository that Maven uses by default, and the folder of those
    that were downloaded before; by default in the cache."""

    url: str | None = None
    offline: bool = False
    folder: Path = field(default_factory=lambda: cache_folder() / "maven")
    silence: float = _SILENCE
    """Seconds that a server may be silent."""
    largest: int = LARGEST
    """Bytes of all files of a plugin."""


def resolve(coordinate: Coordinate, repositories: Repositories, progress: TextIO) -> list[Path]:
    """The file of an archive, or a jar and its runtime dependencies. Checksums are verified.

    Raises InstallError, JavaError and JarsError.
    """
    repository, offline = repositories.url, repositories.offline
    if repository and urlsplit(repository).username is not None:
        raise InstallError("the URL of --repository must not contain a user name or a password")
    command = _command(coordinate, repositories, progress)
    try:
        with exclusive(repositories.folder / ".lock", progress):
            print(f"resolving {coordinate}", file=progress, flush=True)
            resolution = _run(command, progress)
    except LockHeldError as held:
        raise InstallError(f"{coordinate} is not resolved: {held}") from None
    if resolution.error or not resolution.files:
        raise InstallError(f"{coordinate} could not be resolved: {resolution.error}. {_remedy(resolution, offline)}")
    for artifact, reason in resolution.unreadable.items():
        text = f"the POM of {artifact} cannot be read, so its dependencies are not installed: {reason[:300]}"
        print(f"  {text}", file=progress)
    return resolution.files


def versions(coordinate: Coordinate, repositories: Repositories, progress: TextIO) -> list[str]:
    """All versions of the artifact in the repository, oldest first. Raises InstallError, JavaError and JarsError."""
    command = _command(replace(coordinate, version="?"), repositories, progress)
    try:
        with exclusive(repositories.folder / ".lock", progress):
            resolution = _run(command, progress)
    except LockHeldError as held:
        raise InstallError(f"the versions of {coordinate} are not read: {held}") from None
    if not resolution.versions:
        reason = resolution.error or "the repository lists none"
        raise InstallError(f"the versions of {coordinate.group}:{coordinate.artifact} are not known: {reason}")
    return resolution.versions


@dataclass(slots=True)
class Resolution:
    """The resolved files; or an error, with the versions that exist. `unreadable`: reasons by artifact."""

    files: list[Path] = field(default_factory=list)
    error: str = ""
    versions: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)


def _run(command: Sequence[str], progress: TextIO) -> Resolution:
    """Errors of the JVM go to a file: nobody reads a pipe meanwhile, and the JVM would wait for ever at its limit."""
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, preexec_fn=die_with_parent()
        ) as process,
    ):
        try:
            resolution = _follow(process.stdout or (), progress)
            process.wait()
        except BaseException:
            process.kill()
            raise
        errors.seek(0)
        if not resolution.error and (process.returncode or not (resolution.files or resolution.versions)):
            resolution.error = _last(errors.read())
        return resolution


def _command(coordinate: Coordinate, repositories: Repositories, progress: TextIO) -> list[str]:
    java = find_java()
    if repositories.offline and not jars.folder_of("maven-resolver", RESOLVER).is_dir():
        raise InstallError(
            f"{coordinate} cannot be installed offline, since Maven's resolver has not been downloaded yet: "
            f"install any plugin without --offline first"
        )
    resolver = jars.fetch("maven-resolver", RESOLVER, java, progress)
    class_path = [*jars.janino_jars(), *sorted(resolver.glob("*.jar"))]
    source = str(resources.files("runtime.java.install") / "Resolver.java")
    part = (coordinate.group, coordinate.artifact, coordinate.extension, coordinate.classifier, coordinate.version)
    return [
        *(str(java.program), *_JVM, f"-Daether.connector.requestTimeout={int(repositories.silence * 1000)}"),
        *(
            "-Daether.connector.connectTimeout=20000",
            f"-Dheadrace.largest={repositories.largest}",
            "-cp",
            os.pathsep.join(map(str, class_path)),
        ),
        *("org.codehaus.janino.SimpleCompiler", source, "Resolver", str(repositories.folder)),
        *("offline" if repositories.offline else "online", repositories.url or "", ":".join(part), *PROVIDED),
    ]


def _follow(lines: Iterable[str], progress: TextIO) -> Resolution:
    resolution, shown = Resolution(), _Downloads(progress)
    for line in lines:
        kind, _, rest = line.rstrip("\n").partition("\t")
        first, _, second = rest.partition("\t")
        if kind == "file":
            resolution.files.append(Path(second))
        elif kind == "error":
            resolution.error = first
        elif kind == "version":
            resolution.versions.append(first)
        elif kind == "unreadable":
            resolution.unreadable[first] = second
        elif kind == "got":
            shown.finished(int(second))
        elif kind == "part":
            shown.received(int(first))
    shown.end()
    return resolution


class _Downloads:
    """Shows files and bytes: on a terminal in one line, elsewhere a line for each 20 files or 25 MB."""

    def __init__(self, progress: TextIO) -> None:
        self._progress = progress
        self._files = self._bytes = self._next = 0

    def finished(self, size: int) -> None:
        self._files += 1
        self._bytes += size
        self._show(self._bytes, self._files % 20 == 0)

    def received(self, size: int) -> None:
        """`size`: bytes of all files, unfinished ones included."""
        self._show(size, size >= self._next)

    def end(self) -> None:
        if self._next and self._progress.isatty():
            print(file=self._progress, flush=True)

    def _show(self, size: int, is_due: bool) -> None:
        text = f"  downloaded {self._files} files, {size / 1_000_000:.1f} MB"
        if self._progress.isatty():
            print(f"\r{text}", end="", file=self._progress, flush=True)
        elif is_due:
            print(text, file=self._progress, flush=True)
        self._next = max(self._next, size + _STEP) if is_due else self._next or _STEP


def _remedy(resolution: Resolution, offline: bool) -> str:
    if offline:
        return "Without --offline it is downloaded"
    if resolution.versions:
        listed = ", ".join(resolution.versions[-_LISTED:])
        return f"Versions in the repository, the newest last: {listed}. Check version, classifier and extension"
    return "Check group, artifact, version and classifier, and the network; --repository URL names another repository"


def _last(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "the JVM ended without a result"

"""What a task host needs on this machine: Java, Kafka's jars and the compiled glue."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from runtime.api.errors import ConnectError
from runtime.java.host.archive import with_archive
from runtime.java.host.process import JvmSettings
from runtime.java.jvm import jars
from runtime.java.jvm.java import Java
from runtime.system.cache import cache_folder
from runtime.system.process_folder import work_folder

# Compiles the Java classes of the task host, once, with the Janino compiler that PySpark includes.
#
# The sources are package data, and a Java runtime without a compiler is enough.
_COMPILER = "org.codehaus.commons.compiler.samples.CompilerDemo"
_TIMEOUT = 120.0


class GlueError(ConnectError):
    """The classes of the task host could not be compiled."""


def glue_jar(java: Path, classpath: Sequence[Path], cache: Path) -> Path:
    """The jar with the compiled classes, in a folder below `cache`. `classpath`: Kafka's jars. Raises GlueError."""
    sources = _sources()
    jar = cache / "java-host" / f"glue-{_digest(sources, classpath)}.jar"
    if not jar.is_file():
        jar.parent.mkdir(parents=True, exist_ok=True)
        with work_folder(jar.parent) as work:
            classes = compile_sources(java, classpath, sources, work)
            draft = work / jar.name
            _pack(classes, draft)
            draft.replace(jar)
    return jar


def _sources() -> dict[str, str]:
    """The source files, by their path."""
    sources: dict[str, str] = {}
    folders = [("", files("runtime.java.host").joinpath("src"))]
    while folders:
        path, folder = folders.pop()
        for entry in folder.iterdir():
            name = f"{path}{entry.name}"
            if entry.is_dir():
                folders.append((f"{name}/", entry))
            elif name.endswith(".java"):
                sources[name] = entry.read_text(encoding="utf-8")
    return dict(sorted(sources.items()))


def _digest(sources: Mapping[str, str], classpath: Sequence[Path]) -> str:
    parts = [*(f"{name}\0{text}" for name, text in sources.items()), *sorted(jar.name for jar in classpath)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def compile_sources(java: Path, classpath: Sequence[Path], sources: Mapping[str, str], work: Path) -> Path:
    """The folder below `work` with the classes of these sources, which are given by their paths. Raises GlueError."""
    named = []
    for name, text in sources.items():
        file = work / "src" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        named.append(str(file))
    classes = work / "classes"
    classes.mkdir()
    command = [
        *(str(java), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
        *("-cp", os.pathsep.join(map(str, compiler_jars())), _COMPILER),
        *("-d", str(classes), "-classpath", os.pathsep.join(map(str, classpath))),
        *("-encoding", "UTF-8", "-g:source,lines", *named),
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GlueError(f"The task host could not be compiled: {error}") from error
    report = (done.stdout + done.stderr).strip()
    if done.returncode or "CompileException" in report:
        raise GlueError(f"The task host could not be compiled: {report[:2000]}")
    return classes


def _pack(classes: Path, jar: Path) -> None:
    with zipfile.ZipFile(jar, "w") as packed:
        for file in sorted(classes.rglob("*.class")):
            packed.write(file, file.relative_to(classes).as_posix())


def compiler_jars() -> list[Path]:
    """Janino's jars in PySpark, which is not imported. Raises GlueError."""
    spec = importlib.util.find_spec("pyspark")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        jars = [jar for name in ("janino", "commons-compiler") for jar in Path(place, "jars").glob(f"{name}-*.jar")]
        if len(jars) == 2:
            return jars
    raise GlueError("PySpark's Janino jars were not found: pip install 'headrace[runtime]'")


# Maven coordinates of the jars of the task host JVM: Kafka's plugin API, its runtime classes that plugins use, and
# Kafka's own converters, transformations and file connectors. Nothing else of a Connect worker is needed.
HOST = (
    "at.yawk.lz4:lz4-java:1.10.2",
    "com.fasterxml.jackson.core:jackson-annotations:2.21",
    "com.fasterxml.jackson.core:jackson-core:2.21.2",
    "com.fasterxml.jackson.core:jackson-databind:2.21.2",
    "com.fasterxml.jackson.datatype:jackson-datatype-jdk8:2.21.2",
    "com.fasterxml.jackson.module:jackson-module-blackbird:2.21.2",
    "com.github.luben:zstd-jni:1.5.6-10",
    "jakarta.ws.rs:jakarta.ws.rs-api:3.1.0",
    "org.apache.kafka:connect-api:4.3.0",
    "org.apache.kafka:connect-file:4.3.0",
    "org.apache.kafka:connect-json:4.3.0",
    "org.apache.kafka:connect-runtime:4.3.0",
    "org.apache.kafka:connect-transforms:4.3.0",
    "org.apache.kafka:kafka-clients:4.3.0",
    "org.apache.maven:maven-artifact:3.9.15",
    "org.codehaus.plexus:plexus-utils:3.6.1",
    "org.slf4j:slf4j-api:1.7.36",
    "org.xerial.snappy:snappy-java:1.1.10.7",
)


def host_settings(java: Java, heap_mb: int = 256, lease: Path | None = None, more: Sequence[str] = ()) -> JvmSettings:
    """The settings of a task host; downloads and compiles what is missing in the cache. `more`: options of the JVM.

    Raises JarsError or GlueError."""
    folder = jars.fetch("java-host", HOST, java)
    kafka = sorted(folder.glob("*.jar"))
    cache = cache_folder()
    options = (*java.trim_options(), *more)
    settings = JvmSettings(java.program, [glue_jar(java.program, kafka, cache), *kafka], heap_mb, options, lease)
    return with_archive(settings, cache / "java-host")

"""The jars of the suite by Maven coordinates, and the classes compiled for it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from runtime.embedded.broker import broker
from runtime.java.jvm import jars
from runtime.java.jvm.java import find_java
from runtime.system.cache import cache_folder
from runtime.system.process_folder import work_folder
from tests.support.java.connect_jars import connect_jars

JAVA = Path(__file__).parent / "java"
_TESTS = (
    "org.apache.kafka:connect-runtime:4.3.0:test",
    "org.apache.kafka:kafka-clients:4.3.0:test",
    "org.apache.kafka:kafka-server-common:4.3.0:test",
)
_TOOLS = (
    "net.bytebuddy:byte-buddy-agent:1.17.7",
    "net.bytebuddy:byte-buddy:1.17.7",
    "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4",
    "org.bouncycastle:bcpkix-jdk18on:1.80",
    "org.bouncycastle:bcprov-jdk18on:1.80",
    "org.bouncycastle:bcutil-jdk18on:1.80",
    "org.eclipse.jdt:ecj:3.42.0",
    "org.hamcrest:hamcrest:3.0",
    "org.junit.platform:junit-platform-console-standalone:1.13.4",
    "org.mockito:mockito-core:5.20.0",
    "org.objenesis:objenesis:3.3",
)
_INTEGRATION = "org/apache/kafka/connect/integration"
_PLUGINS = (f"{_INTEGRATION}/", "org/apache/kafka/connect/runtime/Sample", "META-INF/services/")
_NOT_OF_WORKERS = ("RestForwardingIntegrationTest", "StartAndStopCounterTest", "StartAndStopLatchTest")
"""Tests of Apache's REST server with mocks, and of the helpers of the others."""


@dataclass(frozen=True, slots=True)
class Suite:
    """Class paths of the JVM of the tests, on Headrace's workers and on Apache's, and the folder in `plugin.path` with
    the connectors of the tests."""

    headrace: Sequence[Path]
    apache: Sequence[Path]
    plugins: Path


def build() -> Suite:
    """Compiles the classes of `java` into the cache. A Java runtime is enough: the compiler is a jar of its own."""
    java = find_java()
    tests = _jars(jars.fetch("apache-suite-tests", _TESTS, java))
    tools = _jars(jars.fetch("apache-suite-tools", _TOOLS, java))
    kafka = [jar for jar in _jars(jars.fetch("broker", broker.BROKER, java)) if not jar.name.startswith("slf4j-simple")]
    libraries = [*tests, *tools, *kafka, *_jars(connect_jars())]
    folder = cache_folder() / "apache-suite" / _digest(libraries)
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with work_folder(folder.parent) as work:
            fresh = work / folder.name
            _compile_all(java.program, fresh, libraries)
            server_common = next(jar for jar in kafka if jar.name.startswith("kafka-server-common"))
            _pack(fresh / "plugins", tests[0], fresh / "plugin", server_common)
            with zipfile.ZipFile(tests[0]) as jar:
                jar.extractall(fresh / "tests")  # as files, since a test compiles plugins from sources among them
            fresh.rename(folder)
    apache = [folder / "brokers", folder / "tests", *libraries]
    return Suite([folder / "workers", *apache], apache, folder / "plugins")


def _digest(libraries: Iterable[Path]) -> str:
    sources = sorted(JAVA.rglob("*.java"))
    parts = [*map(str, libraries), Path(__file__).read_text(), *(source.read_text() for source in sources)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _compile_all(java: Path, folder: Path, libraries: Sequence[Path]) -> None:
    _compile(java, [JAVA / "plugin"], folder / "plugin", libraries)
    _compile(java, [JAVA / "brokers"], folder / "brokers", libraries)
    bridge = JAVA / "plugin" / "suite" / "Bridge.java"
    _compile(java, [JAVA / "workers", bridge], folder / "workers", [folder / "brokers", *libraries])


def test_classes() -> list[str]:
    """The simple names of Apache's classes of integration tests."""
    with zipfile.ZipFile(_jars(jars.fetch("apache-suite-tests", _TESTS, find_java()))[0]) as jar:
        names = [Path(name) for name in jar.namelist() if name.endswith("Test.class")]
    classes = sorted(name.stem for name in names if name.parent.as_posix() == _INTEGRATION)
    return [name for name in classes if name not in _NOT_OF_WORKERS]


def _jars(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.jar"))


def _compile(java: Path, sources: Sequence[Path], target: Path, class_path: Sequence[Path]) -> None:
    compiler = next(jar for jar in class_path if jar.name.startswith("ecj-"))
    subprocess.run(
        [
            *(str(java), "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", str(compiler), "-17", "-nowarn"),
            *("-cp", os.pathsep.join(map(str, class_path)), "-d", str(target), *map(str, sources)),
        ],
        check=True,
    )


def _pack(folder: Path, tests: Path, own: Path, server_common: Path) -> None:
    """The folder for `plugin.path` with the plugins among Apache's test classes, and our handles in place of theirs."""
    location = folder / "kafka-tests"
    location.mkdir(parents=True)
    handles = {file.relative_to(own).as_posix(): file.read_bytes() for file in sorted(own.rglob("*.class"))}
    outer = f"{_INTEGRATION}/BlockingConnectorTest.class"
    with zipfile.ZipFile(tests) as theirs, zipfile.ZipFile(location / "kafka-tests.jar", "w") as packed:
        names = set(theirs.namelist())
        for name in sorted(name for name in names if name.startswith(_PLUGINS) and not name.endswith("/")):
            if name.startswith("META-INF/"):
                _pack_services(packed, theirs, name, names)
            elif name not in handles or name == outer:
                packed.writestr(name, theirs.read(name))
        for name, content in handles.items():
            if name != outer:
                packed.writestr(name, content)
    (location / server_common.name).symlink_to(server_common)


def _pack_services(packed: zipfile.ZipFile, theirs: zipfile.ZipFile, name: str, names: set[str]) -> None:
    """Without the REST extension of a test, and without providers that are not packed."""
    lines = [line.partition("#")[0].strip() for line in theirs.read(name).decode().splitlines()]
    kept = [
        line for line in lines if (entry := f"{line.replace('.', '/')}.class") in names and entry.startswith(_PLUGINS)
    ]
    if kept and not name.endswith("RestExtension"):
        packed.writestr(name, "\n".join(kept))
